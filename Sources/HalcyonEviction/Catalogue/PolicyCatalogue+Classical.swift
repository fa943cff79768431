extension PolicyCatalogue {
    /// Every policy of this module: one line each.
    public static let classical = PolicyCatalogue(
        [
            PolicyEntry(RandomEviction.self),
            PolicyEntry(FIFO.self),
            PolicyEntry(LRU.self),
            PolicyEntry(MRU.self),
            PolicyEntry(LFU.self),
            PolicyEntry(LFUDA.self),
            PolicyEntry(Clock.self),
            PolicyEntry(SLRU.self),
            PolicyEntry(TwoQ.self),
            PolicyEntry(LRUK.self),
            PolicyEntry(MQ.self),
            PolicyEntry(ARC.self),
            PolicyEntry(CAR.self),
            PolicyEntry(LIRS.self),
            PolicyEntry(SIEVE.self),
            PolicyEntry(S3FIFO.self),
            PolicyEntry(QDLPFIFO.self),
            PolicyEntry(WTinyLFU.self),
            PolicyEntry(GDSF.self),
            PolicyEntry(Hyperbolic.self),
            PolicyEntry(LeCaR.self),
            PolicyEntry(Cacheus.self),
            PolicyEntry(SizeEviction.self),
            PolicyEntry(KingfisherMemory.self),
            PolicyEntry(KingfisherDisk.self),
            PolicyEntry(CategoryQuota.self),
            PolicyEntry(Belady.self),
            PolicyEntry(BeladySize.self),
        ], aliases: ["kingfisher": "kingfisher-memory"])
}
