import HalcyonTestSupport
import HalcyonTrace

/// The bundled trace with a size for each object, for variable sizes.
enum SizedTrace {
    /// Loads its first requests. Sizes are 1 to 400, or 1 to 8 times a `unit`, by a hash of the key.
    static func load(_ folder: TemporaryFolder, limit: Int, unit: Int = 1) throws -> Trace {
        let plain = try String(contentsOfFile: BundledTrace.path("shop.csv"), encoding: .utf8)
        var text = ""
        for (number, line) in plain.split(separator: "\n").prefix(limit + 1).enumerated() {
            let key = line.split(separator: ",", maxSplits: 2)[1]
            let size = key.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) % 9_973 } % (unit > 1 ? 8 : 400) + 1
            text += number == 0 ? "\(line),size\n" : "\(line),\(size * unit)\n"
        }
        return try Trace.load(folder.file("sized.csv", text))
    }
}
