import Foundation

/// How many runs go on at once unless told otherwise: one a core that this process may use.
public var coreCount: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }
