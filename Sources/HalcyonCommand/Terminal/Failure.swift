import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// The exit codes of the command other than 0.
enum Exit {
    /// A check failed.
    static let failedCheck = ExitCode(1)
    /// The options are invalid.
    static let usage = ExitCode(64)
    /// The data is not as required.
    static let data = ExitCode(65)
    /// The output could not be written, or the system refused a file.
    static let output = ExitCode(74)
}

/// Runs `body`. Reports an error as one sentence on standard error and throws the exit code of its kind.
func reportingFailure<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch let error as TraceError {
        throw failure(error.description, error.isOfOutput ? Exit.output : Exit.data)
    } catch let error as ReplayError {
        switch error {
        case .usage(let sentence): throw failure(sentence, Exit.usage)
        case .data(let sentence): throw failure(sentence, Exit.data)
        }
    } catch let error as PolicyError {
        throw failure(error.description, Exit.usage)
    } catch let error as PrefetchBudgetError {
        throw failure(error.description, Exit.usage)
    } catch let error as ModelFileError {
        throw failure(error.description, error.isOfOutput ? Exit.output : Exit.data)
    } catch let error as GenerationError {
        throw failure(error.description, Exit.usage)
    } catch let error where error is CocoaError || error is POSIXError {
        throw failure("A file cannot be read or written: \(SystemReason.text(of: error)).", Exit.output)
    }
}

private func failure(_ sentence: String, _ code: ExitCode) -> ExitCode {
    Terminal.complain(sentence)
    return code
}
