public import HalcyonEviction

/// The command `replay`, and the way to a command of your own that has your policies beside those of Halcyon.
///
/// A program of three lines has every subcommand of `replay`: suites, comparisons, checks and the test of the
/// hypothesis then accept your policies by name.
///
/// ```swift
/// import HalcyonCommand
///
/// await LaboratoryCommand.main(name: "myreplay", adding: [PolicyEntry(SecondGlance.self)])
/// ```
public enum LaboratoryCommand {
    /// Runs the subcommand that the arguments of the process name. Does not return if it fails: the process then ends
    /// with the exit code of `replay`.
    ///
    /// To be called once, before anything else of the process.
    ///
    /// - Parameters:
    ///   - name: the name of the program in its messages and help. The default is `replay`.
    ///   - policies: the policies that are added to those of the laboratory. One with the name of a policy of Halcyon
    ///     replaces it. The default is none.
    public static func main(name: String = "replay", adding policies: [PolicyEntry] = []) async {
        Program.current = Program(name: name, policies: policies)
        await ReplayCommand.main()
    }
}
