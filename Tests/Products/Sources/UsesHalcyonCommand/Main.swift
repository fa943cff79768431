import HalcyonCommand

/// `make products` runs it without arguments; with some, it is `replay`.
@main
enum Main {
    static func main() async {
        if CommandLine.arguments.count > 1 { await LaboratoryCommand.main(name: "UsesHalcyonCommand") }
    }
}
