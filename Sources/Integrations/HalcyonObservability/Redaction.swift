import Foundation

/// Removes from texts what may identify a person: the query, the fragment and the credentials of URLs, the home
/// directory, and the owner of a private key.
enum Redaction {
    /// Returns a URL without credentials, query and fragment.
    static func text(of url: URL) -> String { text(url.absoluteString) }

    /// Returns a text with all its URLs and paths redacted. O(length).
    static func text(_ text: String) -> String {
        var text = text
        // A private key has its owner behind this character; see `EntryOrigin`.
        text.replace(#/\u{1F}.*(?=')|\u{1F}.*/#, with: "")
        text.replace(#/([A-Za-z][A-Za-z0-9+.\-]*:\/\/)([^\s'"\/?#]*@)?([^\s'"?#]*)([?#][^\s'"]*)?/#) { match in
            let end = match.4.map { query in
                // The punctuation of the sentence is no part of the URL.
                query.hasSuffix(".") ? "." : query.hasSuffix(":") ? ":" : ""
            }
            return "\(match.1)\(match.3)\(end ?? "")"
        }
        // A key that is no URL may have a query, too.
        text.replace(#/[?#][^\s'"]+/#, with: "")
        let home = NSHomeDirectory()
        if home.count > 1 { text = text.replacingOccurrences(of: home + "/", with: "~/") }
        return text
    }
}
