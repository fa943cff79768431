import HalcyonEviction

extension PolicyCatalogue {
    /// The policy that `text` names, if a live cache can serve it.
    func livePolicy(_ text: String) throws -> ConfiguredPolicy {
        let policy = try policy(text)
        if policy.info.traits.contains(.needsFuture) { throw CacheError.policyNeedsFuture(policy.info.name) }
        return policy
    }
}
