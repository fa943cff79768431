import HalcyonCommand

/// `replay`: recorded accesses in, exact hit ratios out.
@main
enum Replay {
    static func main() async { await LaboratoryCommand.main() }
}
