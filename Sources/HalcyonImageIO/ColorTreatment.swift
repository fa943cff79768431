import HalcyonImages

extension Bitmap.Provenance.Colors {
    /// Returns the treatment of a file's colours.
    ///
    /// - Parameters:
    ///   - hasProfile: whether the file has a profile.
    ///   - profile: the bytes of the profile; `nil` if they are not known.
    ///   - isConverted: whether the pixels were drawn in sRGB, in place of the file's own colour space.
    static func treatment(hasProfile: Bool, profile: [UInt8]?, isConverted: Bool) -> Self {
        guard hasProfile else { return .untagged }
        guard isConverted else { return .kept }
        let conversion = profile.flatMap(ColorProfile.init).flatMap { $0.conversion(of: $0.space) }
        return conversion?.isIdentity == true ? .sRGB : .converted
    }
}
