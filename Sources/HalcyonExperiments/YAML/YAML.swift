import Foundation
import HalcyonSimulation
import HalcyonSupport
import Yams

/// A value of a YAML file with its position, for error messages.
struct YAMLValue {
    /// The file as the caller named it.
    let file: String
    private let node: Node

    private init(_ node: Node, file: String) {
        self.node = node
        self.file = file
    }

    /// Returns the text of a file.
    ///
    /// - Parameter content: what the file is to hold, for messages: `a suite`.
    /// - Throws: ``HalcyonSimulation/ReplayError`` if it cannot be read or is not UTF-8.
    static func text(ofFile path: String, content: String) throws(ReplayError) -> String {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            var isFolder: ObjCBool = false
            let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            throw ReplayError.data(
                "\(path): \(isFolder.boolValue ? "is a folder" : exists ? "cannot be read" : "does not exist"); "
                    + "a YAML file of \(content) is needed.")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw ReplayError.data("\(path): is not UTF-8 text; a YAML file of \(content) is needed.")
        }
        return text
    }

    /// Returns the single document in `text`.
    ///
    /// - Parameter content: what the file is to hold, for messages: `a suite`.
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the text is empty, not YAML, or several documents.
    static func document(in text: String, file: String, content: String) throws(ReplayError) -> YAMLValue {
        do {
            guard let node = try compose(yaml: text, .default, .default, .utf8) else {
                throw ReplayError.data("\(file): is empty; a YAML file of \(content) is needed.")
            }
            return YAMLValue(node, file: file)
        } catch let error as ReplayError {
            throw error
        } catch {
            throw ReplayError.data("\(file)\(sentence(for: error))")
        }
    }

    /// The line, counted from 1; 0 if the parser gives none.
    var line: Int { node.mark?.line ?? 0 }

    /// Returns an error with file, line and column.
    func fault(_ message: String) -> ReplayError {
        let place = node.mark.map { ":\($0.line):\($0.column)" } ?? ""
        return .data("\(file)\(place): \(message)")
    }

    /// An error for a list without values that may be left out.
    var emptyList: ReplayError { fault("the list is empty: give at least one value, or leave it out.") }

    /// Returns the fields of a mapping.
    ///
    /// - Parameters:
    ///   - accepted: the accepted names.
    ///   - what: the name of the mapping in messages: `A limit`.
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the value is not a mapping or has a name that is not accepted.
    func fields(accepting accepted: [String], of what: String) throws(ReplayError) -> YAMLFields {
        let fields = try fields(of: what)
        for (name, key) in fields.keys where !accepted.contains(name) {
            throw key.fault("\(what) has no '\(name.shortened)': accepted are \(accepted.joined(separator: ", ")).")
        }
        return fields
    }

    /// Returns the fields of a mapping with any names.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the value is not a mapping.
    func fields(of what: String) throws(ReplayError) -> YAMLFields {
        guard case .mapping(let mapping) = node else {
            throw fault("\(what) is a mapping of names to values, and this is \(kind).")
        }
        var fields = YAMLFields(owner: self, what: what)
        for (key, value) in mapping {
            let key = YAMLValue(key, file: file)
            fields.add(try key.text(as: "a name"), key: key, value: YAMLValue(value, file: file))
        }
        return fields
    }

    /// Returns the values of a sequence.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the value is not a sequence.
    func list(as what: String) throws(ReplayError) -> [YAMLValue] {
        guard case .sequence(let sequence) = node else {
            throw fault("\(what) is a list, and this is \(kind).")
        }
        return sequence.map { YAMLValue($0, file: file) }
    }

    /// Returns the text as written, independent of its YAML type: `1%`, `20`, `lru`.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the value is empty, a list or a mapping.
    func text(as what: String) throws(ReplayError) -> String {
        guard case .scalar(let scalar) = node else { throw fault("\(what) is expected, and this is \(kind).") }
        guard !scalar.string.isEmpty else { throw fault("\(what) is expected, and there is nothing.") }
        return scalar.string
    }

    /// Returns a number in a range.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the value is not one.
    func number(in range: ClosedRange<Double>, as what: String) throws(ReplayError) -> Double {
        let text = try text(as: what)
        guard let value = Double(text), range.contains(value) else {
            throw fault(
                "'\(text.shortened)' is not \(what): write a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }

    /// Returns a whole number of at least `least`.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the value is not one.
    func whole<Number: FixedWidthInteger>(atLeast least: Number, as what: String) throws(ReplayError) -> Number {
        let text = try text(as: what)
        guard let value = Number(text), value >= least else {
            throw fault("'\(text.shortened)' is not \(what): write a whole number of at least \(least).")
        }
        return value
    }

    /// Whether the value is a list.
    var isList: Bool { if case .sequence = node { true } else { false } }
    /// Whether the value is a mapping.
    var isMapping: Bool { if case .mapping = node { true } else { false } }

    /// Returns the values of a list, or the one value that is not a list.
    func listOrOne() -> [YAMLValue] {
        guard case .sequence(let sequence) = node else { return [self] }
        return sequence.map { YAMLValue($0, file: file) }
    }

    /// Returns `true` or `false`.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` for another text.
    func truth(as what: String) throws(ReplayError) -> Bool {
        switch try text(as: what) {
        case "true", "yes", "on": return true
        case "false", "no", "off": return false
        case let text: throw fault("'\(text.shortened)' is neither true nor false.")
        }
    }

    private var kind: String {
        switch node {
        case .scalar(let scalar): scalar.string.isEmpty ? "nothing" : "'\(scalar.string.shortened)'"
        case .mapping: "a mapping"
        case .sequence: "a list"
        case .alias: "an alias"
        }
    }

    /// Returns `:line:column: problem.`, as far as the parser gives them.
    private static func sentence(for error: any Error) -> String {
        switch error {
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _):
            let within = context.map { ", \($0.text) at line \($0.mark.line)" } ?? ""
            return ":\(mark.line):\(mark.column): is not YAML: \(problem)\(within)."
        case YamlError.duplicatedKeysInMapping(let names, let context):
            let named = names.map { "'\($0.shortened)'" }.joined(separator: ", ")
            return ":\(context.mark.line):\(context.mark.column): \(named) is given twice; give it once."
        case YamlError.reader(let problem, let offset, _, _):
            return ": is not YAML: \(problem)\(offset.map { ", at character \($0 + 1)" } ?? "")."
        default:
            return ": is not YAML: \(SystemReason.text(of: error))."
        }
    }
}

extension String {
    /// The text for messages: unprintable characters are escaped, long texts are cut.
    var shortened: String { shortened(to: 60) }
}

/// The named values of a YAML mapping.
struct YAMLFields {
    /// The names with their positions, in the order of the file.
    private(set) var keys: [(name: String, key: YAMLValue)] = []
    private var values: [String: YAMLValue] = [:]
    private let owner: YAMLValue
    private let what: String

    /// Creates a mapping `owner` without fields; messages call it `what`.
    init(owner: YAMLValue, what: String) {
        self.owner = owner
        self.what = what
    }

    /// Adds a field.
    mutating func add(_ name: String, key: YAMLValue, value: YAMLValue) {
        keys.append((name, key))
        values[name] = value
    }

    /// Returns the value of a name; `nil` if it is not given.
    subscript(name: String) -> YAMLValue? { values[name] }

    /// Returns the value of a name.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if the name is not given.
    func required(_ name: String) throws(ReplayError) -> YAMLValue {
        guard let value = values[name] else { throw owner.fault("\(what) needs '\(name)'.") }
        return value
    }
}
