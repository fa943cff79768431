import HalcyonImages

/// The uniform type identifiers that ImageIO has for formats.
enum TypeIdentifiers {
    /// The identifiers of the formats that Halcyon recognises and a system may read. Sequences of HEIC and AVIF
    /// (`public.heics`, `public.avis`) are read if their pictures are.
    private static let all: [ImageFormat: String] = [
        .jpeg: "public.jpeg", .png: "public.png", .webp: "org.webmproject.webp", .gif: "com.compuserve.gif",
        .heic: "public.heic", .avif: "public.avif", .ico: "com.microsoft.ico", .jpegXL: "public.jpeg-xl",
    ]

    /// Returns the identifier of a format; `nil` for formats that ImageIO does not read, such as SVG and MP4.
    static func identifier(of format: ImageFormat) -> String? { all[format] }

    /// Returns the formats whose identifiers are in a list, for example in that of the types that a system reads.
    static func formats(in identifiers: [String]) -> Set<ImageFormat> {
        let identifiers = Set(identifiers)
        return Set(all.filter { identifiers.contains($0.value) }.keys)
    }
}
