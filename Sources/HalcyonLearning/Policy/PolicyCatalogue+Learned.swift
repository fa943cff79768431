import HalcyonEviction

extension PolicyCatalogue {
    /// Every policy there is: the classical ones and the learned one.
    public static let standard: PolicyCatalogue = {
        var catalogue = PolicyCatalogue.classical
        catalogue.add(PolicyEntry(LearnedPolicy.self))
        return catalogue
    }()
}
