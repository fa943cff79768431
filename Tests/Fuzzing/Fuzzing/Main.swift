import CFuzzing
import Foundation

/// Fuzzes one parser with libFuzzer; `Tests/Fuzzing/run` builds it and calls it.
///
///     Fuzzing NAME [OPTIONS OF LIBFUZZER] [CORPUS…]     fuzzes, or with -runs=0 FILE runs one input
///     Fuzzing seeds NAME FOLDER                         writes the inputs that the corpus begins with
///     Fuzzing list                                      names all targets
///
/// An input that is not handled ends the process: a crash, an error of another type, a wrong value. `HALCYON_ROOT` names the folder of
/// the package, by default the working directory. Exit code 64: usage; 69: the program was built without libFuzzer.
@main
enum Main {
    nonisolated private static let name = CommandLine.arguments.dropFirst().first ?? ""

    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["list"] { return print(FuzzTarget.all.map(\.name).joined(separator: "\n")) }
        if arguments.count == 3, arguments[0] == "seeds", let target = FuzzTarget.named(arguments[1]) {
            return try target.writeSeeds(to: URL(fileURLWithPath: arguments[2]))
        }
        guard FuzzTarget.named(name) != nil else {
            FileHandle.standardError.write(Data("fuzz: '\(name)' is no target; see `Fuzzing list`\n".utf8))
            exit(64)
        }
        exit(runLibFuzzer())
    }

    /// Hands libFuzzer the arguments without the name of the target.
    private static func runLibFuzzer() -> CInt {
        var texts = ([CommandLine.arguments[0]] + CommandLine.arguments.dropFirst(2)).map { strdup($0) } + [nil]
        var count = CInt(texts.count - 1)
        let code = texts.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            return fuzzer_run(&count, &start) { bytes, count in
                guard let bytes, count > 0 else { return 0 }
                Main.target.run(Data(bytes: bytes, count: count))
                return 0
            }
        }
        guard code >= 0 else {
            FileHandle.standardError.write(Data("fuzz: this program was built without libFuzzer\n".utf8))
            return 69
        }
        return code
    }

    /// libFuzzer's callback takes no context.
    private static let target = FuzzTarget.named(name) ?? .selfTest
}

/// Where libFuzzer's driver looks for a function that this program passes to it instead.
@_cdecl("LLVMFuzzerTestOneInput")
public func unusedFuzzFunction(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { 0 }
