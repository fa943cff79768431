import Foundation
import Halcyon
import HalcyonExperiments
import HalcyonSimulation

@testable import HalcyonLearning

extension FuzzTarget {
    /// A model as safetensors.
    static let model = FuzzTarget(
        name: "model",
        run: { data in
            do {
                let model = try PretrainedModel(parsing: data)
                guard try PretrainedModel(parsing: model.data()) == model else {
                    fatalError("the model changes when written")
                }
            } catch {
                guard !"\(error)".contains("\n") else { fatalError("the error is not one line: \(error)") }
            }
        },
        seeds: {
            let model = PretrainedModel(
                weights: Array(repeating: 0.5, count: Feature.width * 2 + 2 + 1), inputs: Feature.width, hidden: 2,
                groups: [.recency, .size], objective: .bytes, baseWindow: 0.75, windowMultiplier: 4,
                trainingSteps: 900,
                trainingSamples: 30_000, producer: "9.9")
            return [try model.data()]
        })

    /// A suite of experiments in YAML.
    static let suite = FuzzTarget(
        name: "suite",
        run: { data in
            let path = FuzzFolder.file("suite.yml", data)
            do throws(ReplayError) {
                _ = try Suite(path: path)
            } catch {
                guard !"\(error)".isEmpty else { fatalError("the error says nothing") }
            }
        },
        seeds: { try files(in: "Experiments/suites", "yml").map { $0.prefix(3_000) } })

    /// The folder of a disk storage in which there are files that it did not write, and whose index is damaged. The first bytes
    /// choose what is done, the rest are names of files, or bytes of the index.
    static let disk = FuzzTarget(
        name: "disk",
        run: { data in
            do {
                try openDamaged(data)
            } catch is CacheError {
                return
            } catch {
                fatalError("another error: \(error)")
            }
        },
        seeds: {
            [
                Data([0]) + Data(".halcyon/x\nname\n..\nkey-0.tmp\n".utf8), Data([1, 200, 0]),
                Data([2, 0, 10]) + Data("SQLite".utf8), Data([3, 4, 0]) + Data(count: 64),
            ]
        })
}

/// The storage that each input damages a copy of: three values.
private let template: String = {
    let path = "\(FuzzFolder.path)/template"
    do {
        try withStorage(in: path) { disk in
            for key in 0..<3 { try disk.store(value: diskValue(key), forKey: "key-\(key)") }
        }
    } catch {
        fatalError("\(error)")
    }
    return path
}()

private func diskValue(_ key: Int) -> Data { Data("value \(key) ".utf8) + Data(repeating: UInt8(key), count: 100) }

/// Opens the storage and closes it, also after an error: a storage that is only released may still write its index while the
/// next input removes or copies the folder.
private func withStorage(in path: String, _ body: (DiskStorage) throws -> Void) throws {
    let disk = try DiskStorage(
        config: .init(
            name: "fuzz", directory: URL(fileURLWithPath: path), sizeLimit: 50_000, cleanInterval: .zero,
            usesHashedFileName: false))
    defer {
        let closed = DispatchSemaphore(value: 0)
        Task.detached {
            await disk.close()
            closed.signal()
        }
        closed.wait()
    }
    try body(disk)
}

/// Every value that is read is one that was stored, and the storage can be used.
private func openDamaged(_ data: Data) throws {
    let path = "\(FuzzFolder.path)/damaged"
    do {
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.copyItem(atPath: template, toPath: path)
    } catch {
        fatalError("the folder cannot be made again: \(error)")
    }
    var rest = [UInt8](data)[...]
    let choice = rest.popFirst() ?? 0
    let place = Int(rest.popFirst() ?? 0) << 8 | Int(rest.popFirst() ?? 0)
    let folder = URL(fileURLWithPath: "\(path)/halcyon.cache.fuzz")
    let index = folder.appendingPathComponent(".halcyon/index.sqlite")
    let names = String(decoding: rest, as: UTF8.self).split(separator: "\n").prefix(8)
    switch choice % 4 {
    case 0:
        for name in names where !name.contains("/") && !name.contains("\0") && name.utf8.count < 250 {
            try? Data("not ours".utf8).write(to: folder.appendingPathComponent(String(name)))
        }
    case 1: truncate(index.path, off_t(place))
    case 2:
        if var bytes = try? Data(contentsOf: index), !bytes.isEmpty {
            for (number, byte) in rest.enumerated() { bytes[(place + number) % bytes.count] = byte }
            try? bytes.write(to: index)
        }
    default: try? Data(rest).write(to: index)
    }
    let overwritten = choice % 4 == 0 ? Set(names.map(String.init)) : []
    try withStorage(in: path) { disk in
        for key in 0..<3 where !overwritten.contains("key-\(key)") {
            guard let found = try disk.value(forKey: "key-\(key)") else { continue }
            guard found == diskValue(key) else { fatalError("key-\(key) has another value") }
        }
        guard disk.count >= 0, disk.totalSize >= 0 else { fatalError("there is less than nothing") }
        try disk.store(value: diskValue(9), forKey: "new")
        guard try disk.value(forKey: "new") == diskValue(9) else { fatalError("what was stored is not read") }
        disk.removeAll()
        guard disk.count == 0, disk.totalSize == 0 else { fatalError("something is left") }
    }
}
