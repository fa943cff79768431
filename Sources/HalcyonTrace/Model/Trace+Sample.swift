import HalcyonSupport

extension Trace {
    /// Returns the requests for a share of the objects as a separate trace, renumbered. O(requests).
    ///
    /// This is spatial sampling: an object is kept with all its requests or not at all. It is kept if the first 8 bytes
    /// of the SHA-256 digest of `seed:key`, such as `1:shop/42`, read as a big-endian number, are below share · 2⁶⁴.
    /// The sample therefore depends on the key and the seed alone, not on the trace, and a larger share with the same
    /// seed
    /// contains a smaller one. In Python:
    /// `int.from_bytes(hashlib.sha256(b"1:" + key).digest()[:8], "big") < share * 2**64`.
    ///
    /// Replay it with the same share of the capacity. Source: Waldspurger et al., SHARDS, FAST 2015.
    ///
    /// - Parameters:
    ///   - share: the share of the objects, above 0 and at most 1.
    ///   - seed: the seed; 1 by default.
    /// - Precondition: The trace has the names of its objects (``NameKinds/keys``).
    public func sample(ofObjects share: Double, seed: UInt64 = 1) -> Trace {
        precondition(share > 0 && share <= 1, "a share above 0 and at most 1")
        precondition(names.keys.count == objectCount, "the keys of all objects")
        if share == 1 { return self }
        let limit = UInt64(share * 0x1p64)
        let prefix = Array("\(seed):".utf8)
        return keeping { object in
            let digest = (prefix + key(ofObject: object)).withUnsafeBytes { SHA256Digest.hash($0) }
            return digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } < limit
        }
    }
}
