@testable import HalcyonTrace

/// A slow and plain reader of CSV with strings and dictionaries, line by line.
struct NaiveCSV {
    var entries: [UInt32] = []
    var times: [Int64] = []
    var users: [UInt32] = []
    var objectSizes: [UInt64] = []
    var keys: [String] = []
    var categories: [[String]] = []

    /// Reads `time,key,size,category,user` with whole seconds.
    init(_ text: String) {
        var numbers: [String: UInt32] = [:]
        var userNumbers: [String: UInt32] = [:]
        let lines = text.replacing("\r\n", with: "\n").split(separator: "\n").dropFirst()
        for line in lines {
            let fields = NaiveCSV.fields(String(line))
            if numbers[fields[1]] == nil {
                numbers[fields[1]] = UInt32(keys.count)
                keys.append(fields[1])
                objectSizes.append(max(UInt64(fields[2]) ?? 0, 1))
            }
            entries.append(numbers[fields[1]] ?? .max)
            times.append((Int64(fields[0]) ?? -1) * 1_000_000)
            categories.append(fields[3].split(separator: "|").map(String.init))
            if fields[4].isEmpty {
                users.append(Trace.noUser)
            } else {
                let number = userNumbers[fields[4]] ?? UInt32(userNumbers.count)
                userNumbers[fields[4]] = number
                users.append(number)
            }
        }
    }

    private static func fields(_ line: String) -> [String] {
        var fields = [""]
        var inQuotes = false
        let characters = Array(line)
        var index = 0
        while index < characters.count {
            let character = characters[index]
            if inQuotes, character == "\"", index + 1 < characters.count, characters[index + 1] == "\"" {
                fields[fields.count - 1].append("\"")
                index += 1
            } else if character == "\"" {
                inQuotes.toggle()
            } else if character == ",", !inQuotes {
                fields.append("")
            } else {
                fields[fields.count - 1].append(character)
            }
            index += 1
        }
        return fields
    }
}

/// Random CSVs with all forms of valid fields.
struct RandomCSV {
    var random: SeededGenerator

    /// Some hundred requests over few names.
    mutating func text() -> String {
        let ends = ["\n", "\r\n"]
        var text = "time,key,size,category,user\n"
        var time = 0
        for _ in 0..<Int.random(in: 1...200, using: &random) {
            time += Int.random(in: 0...3, using: &random)
            let key = name([
                "7", "007", "a", "b,c", "say \"x\"", "ü", "18446744073709551615", "18446744073709551616", "0",
            ])
            let size = Bool.random(using: &random) ? "" : String(Int.random(in: 0...3, using: &random) * 1_000)
            let category = name(["", "x", "y", "x|y", "y|x", "a b", "12|7"])
            let user = name(["", "u1", "42", "042", "a,b"])
            text += "\(time),\(key),\(size),\(category),\(user)\(ends.randomElement(using: &random) ?? "\n")"
            if Int.random(in: 0..<10, using: &random) == 0 { text += "\n" }
        }
        if Bool.random(using: &random), text.last == "\n" { text.removeLast() }
        return text
    }

    private mutating func name(_ names: [String]) -> String {
        let name = names.randomElement(using: &random) ?? ""
        guard name.contains(where: { $0 == "," || $0 == "\"" }) || Int.random(in: 0..<4, using: &random) == 0 else {
            return name
        }
        return "\"" + name.replacing("\"", with: "\"\"") + "\""
    }
}
