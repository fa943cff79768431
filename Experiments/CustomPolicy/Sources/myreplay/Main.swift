import HalcyonCommand
import HalcyonEviction

/// `replay` with a policy of one's own: every subcommand accepts its name.
@main
enum Main {
    static func main() async {
        await LaboratoryCommand.main(name: "myreplay", adding: [PolicyEntry(SecondGlance.self)])
    }
}
