import HalcyonSupport

/// Dates as HTTP writes them (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, and the two older forms that must still be
/// read, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. No locale, no formatter.
public enum HTTPDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// The seconds since 1970 that a text says; `nil` if it is no date. O(length).
    ///
    /// - Parameter now: the seconds since 1970 by which a year of two digits is understood: not more than 50 years ahead.
    public static func seconds(_ text: String?, now: Int64 = SystemClock().now / 1_000_000) -> Int64? {
        guard let text, text.utf8.count <= 40 else { return nil }
        let words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }).map(String.init)
        // Day of the week, day, month, year, time, zone; or day of the week, month, day, time, year.
        if words.count == 6, words[5] == "GMT" {
            return seconds(day: words[1], month: words[2], year: words[3], time: words[4], now)
        }
        if words.count == 5 { return seconds(day: words[2], month: words[1], year: words[4], time: words[3], now) }
        return nil
    }

    private static func seconds(day: String, month: String, year: String, time: String, _ now: Int64) -> Int64? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) ?? -1 }
        guard let day = Int64(day), let month = months.firstIndex(of: month.lowercased()), var full = Int64(year),
            clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2]),
            (1...31).contains(day), (0...9_999).contains(full)
        else { return nil }
        if year.utf8.count == 2 {
            let current = 1970 + now / 31_556_952
            full += current / 100 * 100
            if full > current + 50 { full -= 100 }
        }
        return days(full, Int64(month) + 1, day) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
    }

    /// The days from 1970-01-01 to a date of the Gregorian calendar, by Howard Hinnant's `days_from_civil`.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let ofEra = shifted - era * 400
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }
}
