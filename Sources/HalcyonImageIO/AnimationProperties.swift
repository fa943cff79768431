import Foundation

/// The keys of ImageIO's properties of an animation, which each format has of its own.
struct AnimationProperties {
    /// The key of the format's dictionary, in the properties of a file and of a frame.
    var dictionary: String
    /// The key of the number of times that the animation is shown.
    var loopCount: String
    /// The key of a frame's duration in seconds, as stored.
    var unclampedDelay: String
    /// The key of a frame's duration in seconds, which ImageIO raises to at least 100 ms.
    var delay: String

    /// The key of the list with the same keys for each frame, in the dictionary of a file.
    var frameInfo: String

    /// Returns the duration of a frame, rounded to microseconds and limited to 0 to 2^32 seconds. It is the stored
    /// one, or the raised one if there is no other.
    ///
    /// ImageIO has it in the properties of the frame, and for HEIC and AVIF in the list of the file.
    ///
    /// - Returns: `nil` for a picture that has none, which is not part of an animation.
    func duration(ofFrame index: Int, by frame: [String: Any], in file: [String: Any]) -> Duration? {
        if let values = frame[dictionary] as? [String: Any], let duration = duration(values) { return duration }
        guard let values = file[dictionary] as? [String: Any], let frames = values[frameInfo] as? [[String: Any]],
            frames.indices.contains(index)
        else { return nil }
        return duration(frames[index])
    }

    private func duration(_ values: [String: Any]) -> Duration? {
        guard let seconds = (values[unclampedDelay] ?? values[delay]) as? Double, !seconds.isNaN else { return nil }
        return .microseconds(Int64((min(max(seconds, 0), 4_294_967_296) * 1_000_000).rounded()))
    }

    /// Returns the number of times to show the frames, by the properties of the file; `nil` for endless repetition.
    ///
    /// The number counts all times, and 0 is endless. WebKit's `ImageDecoderCG` reads it like this on newer systems,
    /// and adds 1 for GIF on older ones. A file without a number is shown once.
    func plays(of file: [String: Any]) -> Int? {
        guard let values = file[dictionary] as? [String: Any], let count = values[loopCount] as? Int else { return 1 }
        return count == 0 ? nil : max(count, 1)
    }
}
