/// Files of zstd data that are read and written as a whole.
package enum ZstdFile {
    /// Returns the decompressed bytes of a file. O(bytes).
    ///
    /// - Throws: ``TraceError`` if the file cannot be read, or is not complete zstd data.
    package static func read(_ path: String) throws(TraceError) -> [UInt8] {
        let file = try FileSource(path: path)
        let magic = try file.peek(4)
        guard Compression(magic: magic) == .zstd else {
            throw TraceError(file: path, message: magic.isEmpty ? "is empty" : "does not start as zstd data does")
        }
        let source = try ZstdSource(file, path: path)
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { block.deallocate() }
        var bytes: [UInt8] = []
        while true {
            let count = try source.read(into: block)
            if count == 0 { return bytes }
            bytes.append(contentsOf: block.prefix(count))
        }
    }

    /// Replaces a file by bytes in one zstd frame, with the size of its content and a checksum.
    ///
    /// The new file is on the disk before it replaces the old, and the replacement is on the disk on return. Equal bytes
    /// give equal files if one version of libzstd compresses them.
    ///
    /// - Parameter level: the compression level, 1…22.
    /// - Throws: ``TraceError`` if the file cannot be written; an existing file is then unchanged.
    package static func write(_ bytes: [UInt8], to path: String, level: Int32) throws(TraceError) {
        let file = try AtomicFile(path: path, isDurable: true)
        let sink = try ZstdSink(file, path: path, level: level, size: UInt64(bytes.count))
        try bytes.withUnsafeBufferPointer { buffer throws(TraceError) in
            try sink.write(UnsafeRawBufferPointer(buffer))
        }
        try sink.finish()
    }
}
