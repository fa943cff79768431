/// A log as the text of a trace: `time,key,size,category,user`, a line an access. A log with lists has two more columns,
/// `event,list`, and a line for each image of a list, with the event `shown` and the number of its list.
///
/// An access without a size, such as a miss before the object is stored, gets the first size that the log knows of its key,
/// or 0 if it knows none. Times are seconds since 1970. If a clock was set back, times are held at the latest one before,
/// because the times of a trace do not decrease. Several categories are joined by
/// `|`. A line break or other control character in a name, and a `|` in a category, is written as `%` and two hexadecimal
/// digits.
public struct AccessLogText {
    /// The line that names the columns.
    public let header: [UInt8]
    /// Whether the text has the columns of lists.
    package let hasLists: Bool

    /// The accesses so far whose time was before the one above and has been held.
    public private(set) var heldTimes = 0

    private let reader: AccessLogReader
    private let holdsTimes: Bool
    private var latest = Int64.min
    /// The accesses and lists so far.
    private var (accessCount, listCount) = (0, 0)

    /// The text of what a reader has yet to read.
    ///
    /// - Parameter holdsTimes: whether times never decrease; otherwise they are as they were recorded.
    public init(_ reader: AccessLogReader, holdsTimes: Bool = true) {
        self.reader = reader
        self.holdsTimes = holdsTimes
        hasLists = reader.listCount > 0
        header = Array("time,key,size,category,user\(hasLists ? ",event,list" : "")\n".utf8)
    }

    /// The next lines, without the header; none at the end.
    ///
    /// - Throws: ``AccessLogError`` if the file is damaged.
    public mutating func next() throws(AccessLogError) -> [UInt8] {
        let accesses = try reader.nextWithCosts()
        var lists = reader.lists[...]
        var text: [UInt8] = []
        text.reserveCapacity(accesses.count * 80)
        for access in accesses {
            while let list = lists.first, list.position <= accessCount { append(lists.removeFirst(), to: &text) }
            if access.time < latest, holdsTimes { heldTimes += 1 } else { latest = access.time }
            append(access.key, access.cost, access.categories, access.user, to: &text)
            text.append(contentsOf: hasLists ? ",request,\n".utf8 : "\n".utf8)
            accessCount += 1
        }
        for list in lists { append(list, to: &text) }
        return text
    }

    private mutating func append(_ list: RecordedList, to text: inout [UInt8]) {
        if list.time > latest || !holdsTimes { latest = list.time }
        for item in list.items {
            append(item.key, item.cost, item.categories, list.user, to: &text)
            text.append(contentsOf: ",shown,\(listCount)\n".utf8)
        }
        listCount += 1
    }

    /// The columns that accesses and images of lists have, at the latest time.
    private func append(
        _ key: String, _ cost: Int, _ categories: [String], _ user: String?, to text: inout [UInt8]
    ) {
        AccessLogText.append(seconds: latest, to: &text)
        text.append(UInt8(ascii: ","))
        AccessLogText.append(field: [key], to: &text)
        text.append(UInt8(ascii: ","))
        text.append(contentsOf: String(max(cost, 0)).utf8)
        text.append(UInt8(ascii: ","))
        AccessLogText.append(field: categories, isCategory: true, to: &text)
        text.append(UInt8(ascii: ","))
        if let user { AccessLogText.append(field: [user], to: &text) }
    }

    /// Microseconds as seconds, with as many decimals as are needed.
    private static func append(seconds microseconds: Int64, to text: inout [UInt8]) {
        let (whole, part) = microseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        if microseconds < 0 { text.append(UInt8(ascii: "-")) }
        text.append(contentsOf: String(whole).utf8)
        if part == 0 { return }
        text.append(UInt8(ascii: "."))
        text.append(contentsOf: String(1_000_000 + part).utf8.dropFirst())
        while text.last == UInt8(ascii: "0") { text.removeLast() }
    }

    /// A field of names joined by `|`, quoted where it must be.
    private static func append(field names: [String], isCategory: Bool = false, to text: inout [UInt8]) {
        let start = text.count
        var isQuoted = false
        for (position, name) in names.enumerated() {
            if position > 0 { text.append(UInt8(ascii: "|")) }
            for byte in name.utf8 {
                switch byte {
                case 0..<32, 127: escape(byte, to: &text)
                case UInt8(ascii: "|") where isCategory: escape(byte, to: &text)
                case UInt8(ascii: "\""):
                    isQuoted = true
                    text.append(byte)
                    text.append(byte)
                case UInt8(ascii: ","):
                    isQuoted = true
                    text.append(byte)
                default: text.append(byte)
                }
            }
        }
        // A reader drops the spaces around a field without quotes.
        if isQuoted || (text.count > start && (text[start] == 32 || text[text.count - 1] == 32)) {
            text.insert(UInt8(ascii: "\""), at: start)
            text.append(UInt8(ascii: "\""))
        }
    }

    private static func escape(_ byte: UInt8, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "%"))
        for digit in [byte >> 4, byte & 15] { text.append(digit < 10 ? 48 + digit : 55 + digit) }
    }
}
