import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonBoosting

@Suite("The search for LightGBM's library", .timeLimit(.minutes(20)))
struct LightGBMSearchTests {
    /// Makes empty files at these paths and searches with the environment's variables in terms of the folder.
    private func found(_ files: [String], _ variables: [String: String]) throws -> [String] {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        for file in files {
            let place = URL(fileURLWithPath: folder.path).appending(path: file + LightGBMSearch.fileName)
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: place)
        }
        let root = folder.path
        let search = LightGBMSearch { variables[$0]?.replacingOccurrences(of: "@", with: root) }
        return search.libraries.filter { $0.hasPrefix(root) }
            .map { String($0.dropFirst(root.count + 1).dropLast(LightGBMSearch.fileName.count)) }
    }

    @Test("Libraries of a virtual environment, of the Pythons in PATH and of the user are found, in this order")
    func installedLibrariesAreFoundInOrder() throws {
        let files = [
            "home/.local/lib/python3.12/site-packages/lightgbm/lib/",
            "python/lib/python3.11/site-packages/lightgbm/", "venv/lib/python3.9/site-packages/lightgbm/lib/",
            "system/lib/python3/dist-packages/lightgbm/lib/",
        ]
        let found = try found(
            files,
            ["VIRTUAL_ENV": "@/venv", "PATH": "@/python/bin:@/elsewhere:relative/bin:@/system/bin", "HOME": "@/home"])
        #expect(found == [files[2], files[1], files[3], files[0]])
    }

    @Test("A library of conda is found, and a prefix with characters of patterns is taken literally")
    func condaAndLiteralPrefixes() throws {
        #expect(try found(["a[b]*/lib/", "ab/lib/"], ["CONDA_PREFIX": "@/a[b]*"]) == ["a[b]*/lib/"])
    }

    @Test("Without a library nothing is found")
    func nothingIsFoundWithoutALibrary() throws {
        #expect(try found(["venv/lib/python3.9/site-packages/other/"], ["VIRTUAL_ENV": "@/venv"]).isEmpty)
    }
}
