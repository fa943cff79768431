import HalcyonEviction

extension PolicyCatalogue {
    /// Returns the policy that `text` names.
    ///
    /// - Throws: `PolicyError`; ``CacheError/policyNeedsFuture(_:)`` for a policy that only a replay can use.
    func livePolicy(_ text: String) throws -> ConfiguredPolicy {
        let policy: ConfiguredPolicy
        do {
            policy = try self.policy(text)
        } catch PolicyError.unknownPolicy("learned", _) {
            throw PolicyError.conflict(
                "This catalogue has no policy 'learned': pass `in: .standard` to use the catalogue of HalcyonPrediction, which has it."
            )
        }
        if policy.info.traits.contains(.needsFuture) { throw CacheError.policyNeedsFuture(policy.info.name) }
        return policy
    }
}
