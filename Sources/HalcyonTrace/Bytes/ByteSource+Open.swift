/// Opens a file and unpacks it where its name, its first bytes or the caller say so.
///
/// The first bytes of a binary trace can be anything, so only text is recognised by them.
func openSource(
    _ path: String, format: TraceFormat, compression wanted: Compression?
) throws(TraceError) -> any ByteSource {
    let file = try FileSource(path: path)
    let magic = try file.peek(4)
    let shown = Compression(magic: magic)
    let named = Compression(path: path)
    let compression: Compression
    if let wanted {
        compression = wanted
    } else if named == .none {
        compression = format.isBinary ? .none : shown
    } else {
        compression = named
    }
    if compression != .none, compression != shown {
        let reason = magic.isEmpty ? "is empty" : "does not start as \(compression.rawValue) data does"
        throw TraceError(file: path, message: "\(reason), although its name or --compression says so")
    }
    switch compression {
    case .none: return file
    case .gzip: return try GzipSource(file, path: path)
    case .zstd: return try ZstdSource(file, path: path)
    }
}
