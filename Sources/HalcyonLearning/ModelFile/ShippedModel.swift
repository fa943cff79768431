import Foundation

extension PretrainedModel {
    /// The model that the package ships for a cache of one user: `learned(model=shipped)`.
    ///
    /// It was trained on synthetic users alone, each seen as a device sees its user (`Experiments/shipped_model.py`), in caches
    /// of 20, 60 and 100 objects of uniform size. `Experiments/knowledge.md` says what it brings on real traces, none of which
    /// it was trained on.
    public static let shipped: PretrainedModel = {
        // The file is part of the module. A test reads it, so this cannot fail in a release.
        do { return try PretrainedModel(parsing: Data(PackageResources.device_safetensors)) } catch {
            preconditionFailure("the shipped model: \(error)")
        }
    }()
}
