extension PolicyCatalogue {
    /// Every policy of this module: one line each.
    public static let classical = PolicyCatalogue([
        PolicyEntry(LRU.self),
        PolicyEntry(ARC.self),
        PolicyEntry(CAR.self),
        PolicyEntry(LRUK.self),
        PolicyEntry(GDSF.self),
        PolicyEntry(Belady.self),
    ])
}
