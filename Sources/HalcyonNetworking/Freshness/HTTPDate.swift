import HalcyonSupport

/// Dates as HTTP writes them (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, and the two older forms that must still be
/// read, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. No locale, no formatter.
///
/// A text of another form is no date, so that what it says has passed (RFC 9111, 4.2 and 5.3). The case of letters does not count; nor
/// does the day of the week, which the rest tells.
public enum HTTPDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    private static let longDays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]

    /// The seconds since 1970 that a text says; `nil` if it is no date. O(length).
    ///
    /// - Parameter now: the seconds since 1970 by which a year of two digits is understood: not more than 50 years ahead.
    public static func seconds(_ text: String?, now: Int64 = SystemClock().now / 1_000_000) -> Int64? {
        guard let text, text.utf8.count <= 40 else { return nil }
        let words = text.lowercased().split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        if words.count == 6, words[5] == "gmt", isDay(words[0], days) {
            return seconds(words[1], words[2], number(words[3], 4), words[4])
        }
        if words.count == 4, words[3] == "gmt", isDay(words[0], longDays) {
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard date.count == 3, let year = number(date[2], 2) else { return nil }
            return seconds(date[0], date[1], full(year, now), words[2])
        }
        // A day of one digit stands behind two spaces.
        if words.count == 5, days.contains(words[0]) {
            return seconds(words[2], words[1], number(words[4], 4), words[3])
        }
        if words.count == 6, days.contains(words[0]), words[2].isEmpty, words[3].utf8.count == 1 {
            return seconds("0" + words[3], words[1], number(words[5], 4), words[4])
        }
        return nil
    }

    private static func isDay(_ word: String, _ days: [String]) -> Bool {
        word.hasSuffix(",") && days.contains(String(word.dropLast()))
    }

    private static func seconds(_ day: String, _ month: String, _ year: Int64?, _ time: String) -> Int64? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), 2) ?? 99 }
        guard let day = number(day, 2), let month = months.firstIndex(of: month), let year, clock.count == 3,
            clock[0] <= 23, clock[1] <= 59, clock[2] <= 60, (1...31).contains(day)
        else { return nil }
        return days(year, Int64(month) + 1, day) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
    }

    /// Returns a number of so many digits; `nil` for any other text.
    private static func number(_ text: String, _ digits: Int) -> Int64? {
        text.utf8.count == digits && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }

    /// Returns the year of two digits: not more than 50 years ahead.
    private static func full(_ year: Int64, _ now: Int64) -> Int64 {
        let current = 1970 + now / 31_556_952
        let year = current / 100 * 100 + year
        return year > current + 50 ? year - 100 : year
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
