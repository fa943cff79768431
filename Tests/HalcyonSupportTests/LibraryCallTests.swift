import Foundation
import Testing

/// Finds calls of the C library's elementary functions in Swift code.
///
/// A function that the same file declares is the file's own. Comments are skipped; members of values are allowed, members of
/// the C library's modules are not.
struct LibraryCalls {
    private static let functions: Set<String> = {
        let names = [
            "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "pow", "cbrt", "hypot", "sin", "cos",
            "tan",
            "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma",
            "tgamma",
        ]
        return Set(names + names.map { $0 + "f" })
    }()
    private static let libraries: Set<String> = [
        "Foundation", "FoundationEssentials", "Glibc", "Musl", "Darwin", "Android",
    ]

    private let bytes: [UInt8]

    init(_ source: String) { bytes = Array(source.utf8) }

    /// The calls with their lines, from 1.
    func found() -> [(line: Int, function: String)] {
        var calls: [(line: Int, function: String)] = []
        var own: Set<String> = []
        var before = ""
        var (place, line, depth) = (0, 1, 0)
        while place < bytes.count {
            let byte = bytes[place]
            if byte == UInt8(ascii: "\n") { line += 1 }
            if starts("/*", at: place) {
                depth += 1
                place += 2
            } else if depth > 0 {
                if starts("*/", at: place) { depth -= 1 }
                place += 1
            } else if starts("//", at: place) {
                place = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            } else if isName(byte) {
                let end = bytes[place...].firstIndex { !isName($0) } ?? bytes.count
                let name = String(decoding: bytes[place..<end], as: UTF8.self)
                if before == "func" { own.insert(name) }
                let isMember = place > 0 && bytes[place - 1] == UInt8(ascii: ".")
                if Self.functions.contains(name), isMember ? Self.libraries.contains(before) : starts("(", at: end) {
                    calls.append((line, isMember ? "\(before).\(name)" : name))
                }
                before = name
                place = end
            } else {
                place += 1
            }
        }
        return calls.filter { !own.contains($0.function) }
    }

    private func starts(_ text: StaticString, at place: Int) -> Bool {
        text.withUTF8Buffer { text in
            place + text.count <= bytes.count && text.indices.allSatisfy { bytes[place + $0] == text[$0] }
        }
    }

    private func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), 0x80...:
            true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}

/// The C library's functions differ in their last bits between libraries and processors, so that code which decides,
/// measures or tests may not call them.
@Suite("No result depends on the C library's functions", .timeLimit(.minutes(20)))
struct LibraryCallTests {
    private static let root: URL = {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        return root
    }()

    @Test(
        "Sources call PortableMath instead of the C library",
        arguments: [
            "HalcyonSupport", "HalcyonEviction", "HalcyonLearning", "HalcyonPrefetch", "HalcyonTrace",
            "HalcyonSimulation",
            "HalcyonExperiments",
        ])
    func sourcesCallPortableMathInsteadOfTheCLibrary(module: String) throws {
        let folder = Self.root.appendingPathComponent("Sources/\(module)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(!files.isEmpty)
        for file in files.sorted() {
            let source = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            for call in LibraryCalls(source).found() {
                let place = "Sources/\(module)/\(file):\(call.line)"
                Issue.record("\(place): \(call.function) is the C library's; use PortableMath")
            }
        }
    }

    @Test("Calls of the C library are found with their lines")
    func libraryCallsAreFoundWithTheirLines() {
        let source = """
            import Foundation
            // log(1) in a comment
            /* exp(1)
            /* nested */ pow(2, 3) */ let a = exp(-x) + logf(2)
            let b = PortableMath.exp(1) * FastMath.log2(2) + log.count(3) + value.pow(2)
            func erfc(_ x: Double) -> Double { x < 0 ? 2 - erfc(-x) : x }
            let c = values.map(Foundation.log)
                .map { 2 * pow($0, 2) } // sin(x)
            let d = catalog(1) + exponent(2) + log_(3)
            """
        let found = LibraryCalls(source).found().map { "\($0.line) \($0.function)" }
        #expect(found == ["4 exp", "4 logf", "7 Foundation.log", "8 pow"])
    }
}
