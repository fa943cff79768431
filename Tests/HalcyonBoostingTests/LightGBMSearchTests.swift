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

    @Test("Libraries in lib64 and in a user's packages on macOS are found")
    func lib64AndMacOSPackagesAreFound() throws {
        let files = [
            "fedora/lib64/python3.13/site-packages/lightgbm/lib/", "fedora/lib64/",
            "home/Library/Python/3.9/lib/python/site-packages/lightgbm/lib/",
        ]
        #expect(try found(files, ["PATH": "@/fedora/bin", "HOME": "@/home"]) == files)
    }

    /// Compiles a library that has these functions and no others.
    private func library(_ name: String, _ functions: [String], in folder: TemporaryFolder) throws -> String {
        let source = try folder.file(
            "\(name).c", functions.map { "const char *\($0)(void) { return \"\"; }\n" }.joined())
        let path = "\(folder.path)/\(name).so"
        // Swift's toolchain has this compiler.
        let compiler = try ChildProcess("/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", path, source])
        try #require(compiler.wait() == .exited(0))
        return path
    }

    /// The sentence with which these libraries are refused.
    private func refusal(_ libraries: String...) throws -> String {
        try #require(throws: LightGBM.Missing.self) { try LightGBM(libraries: libraries) }.description
    }

    private static let functions = [
        "LGBM_DatasetCreateFromMat", "LGBM_DatasetSetField", "LGBM_DatasetFree", "LGBM_BoosterCreate",
        "LGBM_BoosterUpdateOneIter", "LGBM_BoosterSaveModelToString", "LGBM_BoosterPredictForMat", "LGBM_BoosterFree",
        "LGBM_GetLastError",
    ]

    @Test("A library older than 3.3 is skipped, and one of 3.3 behind it is loaded")
    func olderLibraryIsSkipped() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let old = try library("old", Self.functions, in: folder)
        let new = try library("new", Self.functions + ["LGBM_DumpParamAliases"], in: folder)
        #expect(throws: Never.self) { try LightGBM(libraries: ["\(folder.path)/none.so", old, new]) }
        let missing = "\(folder.path)/none.so"
        #expect(try refusal(missing, old).hasPrefix("LightGBM cannot be loaded (\(old) is older than 3.3): "))
        #expect(try refusal(old, missing).hasPrefix("LightGBM cannot be loaded (\(missing): "))
    }

    @Test("A library that lacks a function is named by its file")
    func fileThatWasOpenedIsNamed() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let partial = try library("partial", ["LGBM_DumpParamAliases", "LGBM_GetLastError"], in: folder)
        #expect(
            try refusal("\(folder.path)/none.so", partial).hasPrefix(
                "The LightGBM library \(partial) has no function LGBM_DatasetCreateFromMat: "))
    }

    @Test("Without a library nothing is found")
    func nothingIsFoundWithoutALibrary() throws {
        #expect(try found(["venv/lib/python3.9/site-packages/other/"], ["VIRTUAL_ENV": "@/venv"]).isEmpty)
    }
}
