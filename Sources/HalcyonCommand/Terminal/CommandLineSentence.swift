import Foundation
import HalcyonEviction

/// The arguments of a call, and the sentences about those that the argument parser refuses.
struct CommandLineSentence {
    /// The arguments without the name of the command.
    let arguments: [String]
    /// The names of all subcommands.
    let subcommands: [String]

    /// Returns the arguments with each negative number joined to the option before it: `--skip -1` becomes `--skip=-1`.
    ///
    /// The parser takes `-1` for an option. Joined, it reaches the option, whose own sentence states what is accepted.
    static func joiningNegativeNumbers(_ arguments: [String]) -> [String] {
        var joined: [String] = []
        var isOver = false
        for argument in arguments {
            isOver = isOver || argument == "--"
            if !isOver, isNegativeNumber(argument), let option = joined.last, takesValue(option) {
                joined[joined.count - 1] = "\(option)=\(argument)"
            } else {
                joined.append(argument)
            }
        }
        return joined
    }

    private static func isNegativeNumber(_ argument: String) -> Bool {
        let rest = argument.dropFirst()
        return argument.first == "-" && (rest.first == "." ? rest.dropFirst() : rest).first?.isNumber == true
    }

    private static func takesValue(_ argument: String) -> Bool {
        argument.count > 1 && argument.first == "-" && !argument.contains("=")
    }

    /// The help that lists the options of this call.
    var help: String {
        "\(Program.current.name) \(arguments.first.flatMap { subcommands.contains($0) ? $0 : nil } ?? "run") --help"
    }

    /// A sentence if the first argument is no file and has nearly the name of a subcommand; otherwise `nil`.
    var misspelling: String? {
        guard let first = arguments.first, first.first != "-", !first.contains("/"), first != "help",
            !subcommands.contains(first), !FileManager.default.fileExists(atPath: first)
        else { return nil }
        let near = subcommands.map { (distance: editDistance(first, $0), name: $0) }
            .filter { abs($0.name.count - first.count) <= 2 && $0.distance <= min(4, $0.name.count) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        guard let near else { return nil }
        return "There is no subcommand and no file '\(first)'. Did you mean '\(Program.current.name) \(near.name)'?"
    }

    /// Returns the parser's message as a sentence that states what is accepted, and where the options are listed.
    func sentence(for message: String) -> String {
        // The parser lists more than a few accepted values one a line.
        let line = message.replacing("one of the following:\n  - ", with: "one of ").replacing("\n  - ", with: ", ")
        let sentence = Self.refusedValue(line) ?? Self.missingValue(line) ?? line
        return "\(sentence)\(sentence.last == "." || sentence.last == "?" ? "" : ".") See '\(help)'."
    }

    /// Returns the sentence for `The value '…' is invalid for '--option <value>'`; `nil` for another message.
    private static func refusedValue(_ message: String) -> String? {
        let (start, middle) = ("The value '", "' is invalid for '")
        guard message.hasPrefix(start), message.hasSuffix("'"),
            let place = message.range(of: middle, options: .backwards),
            let name = optionName(message[place.upperBound...]), let accepted = accepted[name]
        else { return nil }
        let value = message[message.index(message.startIndex, offsetBy: start.count)..<place.lowerBound]
        return "--\(name) \(value) cannot be read: give \(accepted)."
    }

    /// Returns the sentence for `Missing value for '--option <value>'`; `nil` for another message.
    private static func missingValue(_ message: String) -> String? {
        let start = "Missing value for '"
        guard message.hasPrefix(start), let name = optionName(message.dropFirst(start.count)),
            let accepted = accepted[name]
        else { return nil }
        return "--\(name) needs a value: give \(accepted)."
    }

    /// Returns the long name of an option in a synopsis such as `-c, --capacity <capacity,…>`.
    private static func optionName(_ synopsis: Substring) -> String? {
        let end = CharacterSet(charactersIn: " <'=")
        for part in synopsis.components(separatedBy: end) {
            if part.hasPrefix("--") { return String(part.dropFirst(2)) }
            if let name = longNames[part] { return name }
        }
        return nil
    }

    private static let longNames = ["-c": "capacity", "-p": "policy", "-o": "output"]

    /// The values that options accept, by long name. The parser itself lists those of options with few values.
    private static let accepted: [String: String] = {
        let number = "a whole number, such as 1000"
        let capacity = "a share (1%), a size with a unit (64MB) or a whole number (1000)"
        var accepted = [
            "capacity": capacity, "user-capacity": capacity,
            "policy": "the name of a policy; '\(Program.current.name) policies' lists them",
            "output": "the name of a file",
            "seed": "a whole number of at least 0", "where": "field=value, such as trace=shop",
            "results": "the name of a folder of results", "suite": "the name of a suite's file",
        ]
        for name in [
            "limit", "skip", "windows", "threads", "top", "points", "victim", "maximum-objects", "seeds",
            "permuted-seeds", "permutations",
        ] { accepted[name] = number }
        for name in ["warmup", "sample", "margin"] { accepted[name] = Share.accepted }
        return accepted
    }()
}
