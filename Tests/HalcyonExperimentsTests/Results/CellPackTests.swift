import Foundation
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Synchronization
import Testing

@testable import HalcyonExperiments

@Suite("Packed cells", .timeLimit(.minutes(20)))
struct CellPackTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func store(_ name: String = "results") -> ResultStore { ResultStore(folder: "\(folder.path)/\(name)") }

    private func cells(_ count: Int, evictions: Int = 5) throws -> [StoredCell] {
        try (1...count).map {
            try CellFixture(capacity: "\($0)%").cell(requests: [10, 20], hits: [3, $0], evictions: evictions)
        }
    }

    /// Stores cells, each as a file of its own.
    private func fill(_ store: ResultStore, _ cells: [StoredCell]) throws {
        try store.prepare()
        for cell in cells { try store.add(cell, nil) }
    }

    private func files(_ store: ResultStore) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(store.folder)/cells")) ?? []).sorted()
    }

    private func bytes(_ store: ResultStore) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: store.packPath))
    }

    /// The lines of cells by name.
    private func lines(_ cells: [StoredCell]) throws -> [String: Data] {
        Dictionary(uniqueKeysWithValues: try cells.map { ($0.identity.hash, try $0.json()) })
    }

    @Test("The same cells give the same pack, in whatever order they were stored and packed")
    func sameBytes() throws {
        let cells = try cells(30)
        try fill(store("a"), cells)
        try store("a").pack()
        try fill(store("b"), Array(cells[20...].reversed()))
        try store("b").pack()
        try fill(store("b"), Array(cells[..<5]))
        try store("b").pack()
        try fill(store("b"), cells.reversed())
        try store("b").pack()
        let pack = try bytes(store("a"))
        #expect(try bytes(store("b")) == pack)
        let expected = try lines(cells).sorted { $0.key < $1.key }.flatMap { Array($0.value) }
        #expect(try ZstdFile.read(store("a").packPath) == expected)
        // The header of the frame says that there are a checksum and the size of the content.
        #expect(pack[4] & 0b100 != 0 && (pack[4] >> 6 != 0 || pack[4] & 0b10_0000 != 0))
        for name in ["a", "b"] {
            #expect(files(store(name)).isEmpty)
            let left = try FileManager.default.contentsOfDirectory(atPath: store(name).folder)
            #expect(left.sorted() == ["cells", "cells.jsonl.zst", "provenance"])
        }
        // Packing once more changes nothing.
        try store("a").pack()
        #expect(try bytes(store("a")) == pack)
    }

    @Test("Cells are read from the pack and from files of their own, and none is stored twice")
    func bothForms() throws {
        let cells = try cells(9)
        let store = store()
        try fill(store, Array(cells[..<6]))
        try store.pack()
        try fill(store, cells)
        #expect(files(store).count == 3)
        let sorted = cells.sorted { $0.identity.hash < $1.identity.hash }
        for reader in [store, self.store()] {
            #expect(try reader.hashes() == sorted.map(\.identity.hash))
            #expect(try reader.cells() == sorted)
            #expect(try reader.rows().map(\.cell) == sorted)
            for cell in cells { #expect(try reader.data(ofCell: cell.identity.hash) == cell.json()) }
            #expect(try reader.data(ofCell: "0") == nil)
            #expect(throws: ReplayError.data("\(reader.path(ofCell: "0")): cannot be read.")) { try reader.cell("0") }
        }
        // A pack alone, as in a fresh clone of a repository.
        try store.pack()
        try FileManager.default.removeItem(atPath: "\(store.folder)/cells")
        #expect(store.exists)
        #expect(try store.cells() == sorted)
    }

    @Test("A packing that is killed between any two steps loses no cell, and the next one ends with the same bytes")
    func killed() throws {
        let cells = try cells(12)
        try fill(store("whole"), cells)
        try store("whole").pack()
        // Four cells are packed, eight are not, and two are both: an earlier packing was killed, too.
        func start(_ name: String) throws -> ResultStore {
            let store = store(name)
            try fill(store, Array(cells[..<4]))
            try store.pack()
            try fill(store, Array(cells[4...]))
            for cell in cells[..<2] {
                try cell.json().write(to: URL(fileURLWithPath: store.path(ofCell: cell.identity.hash)))
            }
            return store
        }
        let count = try start("count").packingSteps().count
        #expect(count == 1 + 10)
        for done in 0...count {
            let store = try start("killed-\(done)")
            for step in try store.packingSteps().prefix(done) { try store.perform(step) }
            // What a process leaves that is killed while it holds the lock and has not renamed the pack.
            try Data().write(to: URL(fileURLWithPath: "\(store.folder)/cells.lock"))
            try Data("half".utf8).write(to: URL(fileURLWithPath: "\(store.packPath).17-partial"))
            let reader = self.store("killed-\(done)")
            #expect(try reader.hashes() == self.store("whole").hashes())
            #expect(try reader.cells() == self.store("whole").cells())
            try reader.pack()
            if done < count {
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: store.folder).sorted()
                        == ["cells", "cells.jsonl.zst", "provenance"])
            }
            #expect(try bytes(reader) == bytes(self.store("whole")) && files(reader).isEmpty)
        }
    }

    @Test("Two processes that store and two that pack lose no cell, and a reader sees all that was stored before")
    func atOnce() throws {
        let cells = try cells(60)
        try store().prepare()
        let stored = Mutex<Set<String>>([])
        let faults = Mutex<[String]>([])
        // Each has a store of its own, as a process has. Threads exclude each other by the same lock.
        DispatchQueue.concurrentPerform(iterations: 5) { number in
            let own = store()
            do {
                for (place, cell) in cells.enumerated() {
                    switch number {
                    case 0, 1:
                        // Every third cell is stored by both.
                        guard place % 3 == 0 || place % 2 == number else { continue }
                        try own.add(cell, nil)
                        stored.withLock { _ = $0.insert(cell.identity.hash) }
                    case 2, 3: try own.pack()
                    default:
                        let before = stored.withLock { $0 }
                        let missing = before.subtracting(try own.hashes())
                        for hash in before { _ = try own.cell(hash) }
                        if !missing.isEmpty { faults.withLock { $0.append("missing: \(missing)") } }
                    }
                }
            } catch {
                faults.withLock { $0.append("\(number): \(error)") }
            }
        }
        #expect(faults.withLock { $0 } == [])
        try store().pack()
        try fill(store("alone"), cells)
        try store("alone").pack()
        #expect(try bytes(store()) == bytes(store("alone")) && files(store()).isEmpty)
    }

    @Test("A file with another result than the pack is refused and kept; one with another name of its trace is dropped")
    func conflict() throws {
        let store = store()
        try fill(store, try cells(3))
        try store.pack()
        let pack = try bytes(store)
        var cell = try cells(1)[0]
        let file = store.path(ofCell: cell.identity.hash)
        cell.trace.name = "another"
        try cell.json().write(to: URL(fileURLWithPath: file))
        try store.pack()
        #expect(try bytes(store) == pack && files(store).isEmpty)

        cell.counts.evictions += 1
        #expect(
            throws: ReplayError.data(
                "\(store.packPath), cell \(cell.identity.hash): a different result of the same cell is stored; one of the "
                    + "builds has changed its counts without a new result version, or a file was edited.")
        ) { try store.add(cell, nil) }
        try cell.json().write(to: URL(fileURLWithPath: file))
        #expect(
            throws: ReplayError.data(
                "\(file): a different result of the same cell is stored; one of the builds has changed its counts "
                    + "without a new result version, or a file was edited.")
        ) { try store.pack() }
        #expect(try bytes(store) == pack && files(store).count == 1)
    }

    @Test("A broken file is not packed, and nothing changes")
    func brokenFile() throws {
        let store = store()
        try fill(store, try cells(3))
        try Data("{".utf8).write(to: URL(fileURLWithPath: store.path(ofCell: "00")))
        #expect(
            throws: ReplayError.data(
                "\(store.path(ofCell: "00")): is not JSON; JSON with the schema halcyon.cell/1 is needed.")
        ) { try store.pack() }
        #expect(files(store).count == 4 && !FileManager.default.fileExists(atPath: store.packPath))
    }

    @Test("A merge replaces the packed parts of a cell by their sum")
    func removed() throws {
        let store = store()
        let cells = try cells(5)
        try fill(store, cells)
        try store.pack()
        try fill(store, try self.cells(6))
        let gone = Set([cells[0], cells[3]].map(\.identity.hash))
        try store.pack(without: gone)
        #expect(try Set(store.hashes()) == Set(self.cells(6).map(\.identity.hash)).subtracting(gone))
        #expect(files(store).isEmpty)
    }

    @Test(
        "A damaged pack is one sentence with its path and what is needed",
        arguments: [
            "empty", "cut", "head", "noise", "flipped", "trailing", "no lines", "no line break", "text", "not UTF-8",
            "other schema", "unordered", "twice", "folder",
        ])
    func damaged(fault: String) throws {
        let store = store()
        try fill(store, try cells(4))
        try store.pack()
        let path = store.packPath
        let whole = [UInt8](try bytes(store))
        var content = try ZstdFile.read(path)
        let lines = content.split(separator: 10).map { Array($0) + [10] }
        let remedy =
            "a pack of cells as 'replay sweep' writes it is needed: restore the file, or delete it and run the sweep again."
        func expect(_ bytes: [UInt8], _ sentence: String) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            for read in [{ _ = try store.hashes() }, { _ = try store.cells() }, { try store.pack(without: ["0"]) }] {
                #expect { try read() } throws: { error in
                    guard case .data(let text) = error as? ReplayError else { return false }
                    return text == "\(path)\(sentence)"
                }
            }
        }
        func expect(lines: [UInt8], _ sentence: String) throws {
            try ZstdFile.write(lines, to: path, level: 3)
            try expect([UInt8](try bytes(store)), sentence)
        }
        let broken = "the file was edited; \(remedy)"
        switch fault {
        case "empty": try expect([], ": is empty; \(remedy)")
        case "cut":
            for count in [whole.count - 1, whole.count / 2, 5] {
                try expect(
                    Array(whole[..<count]), ": the zstd data ends early: the file is truncated; \(remedy)")
            }
        case "head": try expect(Array(whole[..<3]), ": does not start as zstd data does; \(remedy)")
        case "noise": try expect(Array("cells".utf8), ": does not start as zstd data does; \(remedy)")
        case "flipped":
            // The last four bytes are the checksum.
            var bytes = whole
            bytes[bytes.count - 1] ^= 1
            try expect(
                bytes, ": the zstd data is damaged (Restored data doesn't match checksum); \(remedy)")
        case "trailing":
            try expect(whole + Array("more".utf8), ": the zstd data is damaged (Unknown frame descriptor); \(remedy)")
        case "no lines": try expect(lines: [], ": has no cells; \(remedy)")
        case "no line break": try expect(lines: content.dropLast(), ":4: has no line break: \(broken)")
        case "text":
            try expect(
                lines: lines[0] + Array("cell\n".utf8),
                ":2: is not JSON; JSON with the schema halcyon.cell/1 is needed.")
        case "not UTF-8":
            let place = try #require(content.firstRange(of: Array("shop".utf8))).lowerBound
            content[place] = 0xff
            try expect(lines: content, ":1: is not UTF-8: \(broken)")
        case "other schema":
            let text = String(decoding: content, as: UTF8.self).replacing("halcyon.cell/1", with: "halcyon.cell/9")
            try expect(lines: Array(text.utf8), ":1: has the schema 'halcyon.cell/9'; halcyon.cell/1 is needed.")
        case "unordered":
            let hash = try store.hashes()[0]
            try expect(lines: lines[1] + lines[0], ":2: the cell \(hash) is not in order: \(broken)")
        case "twice":
            let hash = try store.hashes()[0]
            try expect(lines: lines[0] + lines[0], ":2: the cell \(hash) is there twice: \(broken)")
        default:
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(throws: ReplayError.self) { try store.hashes() }
        }
    }
}
