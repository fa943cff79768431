import Foundation

/// What libFuzzer calls with each input. The environment's HALCYON_FUZZ names what is fuzzed: `processors`, or else decoding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let bytes, count > 0 else { return 0 }
    let data = Data(bytes: bytes, count: count)
    if fuzzesProcessors { fuzzProcessing(data) } else { fuzzDecoding(data) }
    return 0
}

private let fuzzesProcessors = ProcessInfo.processInfo.environment["HALCYON_FUZZ"] == "processors"
