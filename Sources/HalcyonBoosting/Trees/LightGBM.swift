#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// LightGBM, loaded at run time over its C interface: nothing of Halcyon links with it.
///
/// The shared library is the one that the environment variable `HALCYON_LIGHTGBM` names. Without the variable it is
/// the first `lib_lightgbm.so` (`lib_lightgbm.dylib`) of version 3.3 or later: the one that the dynamic linker finds, or
/// one that pip, conda or a distribution installed for a Python of the search path of commands.
///
/// Training uses one thread and LightGBM's deterministic mode: the same library gives the same trees for the same rows.
public struct LightGBM: TreeTrainer {
    /// Why LightGBM cannot be used.
    public struct Missing: Error, CustomStringConvertible {
        /// One sentence that says how to get it.
        public let description: String
    }

    /// The library that the environment names or that is installed, loaded once.
    public static let shared = Result { () throws(Missing) in try LightGBM(path: variable("HALCYON_LIGHTGBM")) }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private typealias Handle = UnsafeMutableRawPointer
    private typealias CreateDataset =
        @convention(c) (
            UnsafeRawPointer, CInt, Int32, Int32, CInt, UnsafePointer<CChar>, Handle?, UnsafeMutablePointer<Handle?>
        ) -> CInt
    private typealias SetField =
        @convention(c) (Handle, UnsafePointer<CChar>, UnsafeRawPointer, CInt, CInt) -> CInt
    private typealias CreateBooster =
        @convention(c) (Handle, UnsafePointer<CChar>, UnsafeMutablePointer<Handle?>) -> CInt
    private typealias UpdateBooster = @convention(c) (Handle, UnsafeMutablePointer<CInt>) -> CInt
    private typealias SaveBooster =
        @convention(c) (
            Handle, CInt, CInt, CInt, Int64, UnsafeMutablePointer<Int64>, UnsafeMutablePointer<CChar>?
        ) -> CInt
    private typealias Predict =
        @convention(c) (
            Handle, UnsafeRawPointer, CInt, Int32, Int32, CInt, CInt, CInt, CInt, UnsafePointer<CChar>,
            UnsafeMutablePointer<Int64>, UnsafeMutablePointer<Double>
        ) -> CInt
    private typealias Free = @convention(c) (Handle) -> CInt
    private typealias LastError = @convention(c) () -> UnsafePointer<CChar>?

    private static let float32: CInt = 0
    private static let float64: CInt = 1

    private let createDataset: CreateDataset
    private let setField: SetField
    private let freeDataset: Free
    private let createBooster: CreateBooster
    private let updateBooster: UpdateBooster
    private let saveBooster: SaveBooster
    private let predictRows: Predict
    private let freeBooster: Free
    private let lastError: LastError

    /// Loads the library.
    ///
    /// - Parameter path: its file; `nil` to search for it.
    /// - Throws: ``Missing`` if it cannot be loaded, is older than 3.3 or lacks a function.
    public init(path: String?) throws(Missing) {
        let found = LightGBMSearch(variable: Self.variable).libraries
        try self.init(libraries: path.map { [$0] } ?? [LightGBMSearch.fileName] + found)
    }

    /// Loads the first library that can be loaded and is of version 3.3 or later.
    ///
    /// - Parameter names: the files to try in order; the dynamic linker searches for a name without a slash.
    init(libraries names: [String]) throws(Missing) {
        let advice = "'pip install lightgbm' installs it; HALCYON_LIGHTGBM names a library elsewhere, 3.3 or later"
        // The linker's message names the file again, or the library that the file needs. An installed library that cannot be
        // loaded says more than a name that is not found.
        var reason = ""
        var opened: (library: Handle, file: String)?
        for name in names where opened == nil {
            guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
                reason = dlerror().map { String(cString: $0) } ?? name
                continue
            }
            let file = Self.file(of: library) ?? name
            // Added in 3.3; before 3.0, functions of the names below had other parameters.
            if dlsym(library, "LGBM_DumpParamAliases") == nil {
                reason = "\(file) is older than 3.3"
                dlclose(library)
            } else {
                opened = (library, file)
            }
        }
        guard let (library, file) = opened else {
            throw Missing(description: "LightGBM cannot be loaded (\(reason)): \(advice).")
        }
        func symbol<Function>(_ name: String, _ type: Function.Type) throws(Missing) -> Function {
            guard let address = dlsym(library, name) else {
                throw Missing(description: "The LightGBM library \(file) has no function \(name): \(advice).")
            }
            return unsafeBitCast(address, to: type)
        }
        createDataset = try symbol("LGBM_DatasetCreateFromMat", CreateDataset.self)
        setField = try symbol("LGBM_DatasetSetField", SetField.self)
        freeDataset = try symbol("LGBM_DatasetFree", Free.self)
        createBooster = try symbol("LGBM_BoosterCreate", CreateBooster.self)
        updateBooster = try symbol("LGBM_BoosterUpdateOneIter", UpdateBooster.self)
        saveBooster = try symbol("LGBM_BoosterSaveModelToString", SaveBooster.self)
        predictRows = try symbol("LGBM_BoosterPredictForMat", Predict.self)
        freeBooster = try symbol("LGBM_BoosterFree", Free.self)
        lastError = try symbol("LGBM_GetLastError", LastError.self)
    }

    /// Returns the file of an opened library, which the dynamic linker may have found; `nil` if it is not LightGBM.
    private static func file(of library: Handle) -> String? {
        // Swift does not see dladdr on Linux. It fills in four pointers, the name of the file first.
        typealias Describe = @convention(c) (UnsafeRawPointer, UnsafeMutablePointer<UnsafePointer<CChar>?>) -> CInt
        guard let describe = dlopen(nil, RTLD_NOW).flatMap({ dlsym($0, "dladdr") }),
            let function = dlsym(library, "LGBM_GetLastError")
        else { return nil }
        var pointers = [UnsafePointer<CChar>?](repeating: nil, count: 4)
        guard unsafeBitCast(describe, to: Describe.self)(function, &pointers) != 0 else { return nil }
        return pointers[0].map { String(cString: $0) }
    }

    /// Trains trees. O(rows × features × trees).
    public func train(_ set: TrainingSet, _ parameters: TreeParameters) -> BoostedTrees {
        withBooster(set, parameters) { booster in
            let text = modelText(booster)
            do { return try BoostedTrees(text: text, features: set.features) } catch {
                fatalError("LightGBM trained a model of an unknown form: \(error).")
            }
        }
    }

    /// Trains trees, and returns what LightGBM itself predicts for the rows of the set, for tests of ``BoostedTrees``.
    func trainedPredictions(_ set: TrainingSet, _ parameters: TreeParameters) -> [Double] {
        withBooster(set, parameters) { booster in
            var predictions = [Double](repeating: 0, count: set.count)
            var length: Int64 = 0
            require(
                predictRows(
                    booster, set.values, Self.float64, Int32(set.count), Int32(set.features), 1, 0, 0, -1,
                    Self.text(parameters), &length, &predictions))
            return predictions
        }
    }

    /// LightGBM's parameters: those of both papers' code, one thread, and no message on standard output. The choice of
    /// features and rows for each tree has LightGBM's own seeds, as there: policies differ by what they sample.
    static func text(_ parameters: TreeParameters) -> String {
        """
        boosting=gbdt objective=regression num_iterations=\(parameters.trees) num_leaves=\(parameters.leaves) \
        num_threads=1 feature_fraction=0.8 bagging_freq=5 bagging_fraction=0.8 learning_rate=0.1 verbosity=-1 \
        force_row_wise=true deterministic=true
        """
    }

    private func withBooster<Value>(
        _ set: TrainingSet, _ parameters: TreeParameters, _ use: (Handle) -> Value
    ) -> Value {
        let text = Self.text(parameters)
        var dataset: Handle?
        require(
            createDataset(
                set.values, Self.float64, Int32(set.count), Int32(set.features), 1, text, nil, &dataset))
        guard let dataset else { fatalError("LightGBM returned no data set.") }
        defer { _ = freeDataset(dataset) }
        require(setField(dataset, "label", set.labels, CInt(set.count), Self.float32))
        var booster: Handle?
        require(createBooster(dataset, text, &booster))
        guard let booster else { fatalError("LightGBM returned no booster.") }
        defer { _ = freeBooster(booster) }
        var isFinished: CInt = 0
        for _ in 0..<parameters.trees where isFinished == 0 { require(updateBooster(booster, &isFinished)) }
        return use(booster)
    }

    private func modelText(_ booster: Handle) -> String {
        var (room, length): (Int, Int64) = (1 << 20, 0)
        while true {
            var bytes = [CChar](repeating: 0, count: room)
            require(saveBooster(booster, 0, -1, 0, Int64(room), &length, &bytes))
            if Int(length) <= room {
                return String(decoding: bytes.prefix(Int(length) - 1).map(UInt8.init(bitPattern:)), as: UTF8.self)
            }
            room = Int(length)
        }
    }

    /// Ends the process if a call failed. LightGBM fails for parameters that this file does not give, and without memory.
    private func require(_ code: CInt) {
        if code == 0 { return }
        fatalError("LightGBM failed: \(lastError().map { String(cString: $0) } ?? "no message").")
    }
}
