extension StringProtocol {
    /// The text with every character escaped that a terminal could interpret or that hides text: `ESC` becomes
    /// `\u{1B}`.
    ///
    /// Escaped are the control characters of C0 and C1, DEL, the separators of lines and paragraphs, and the marks that
    /// change the direction of writing. O(length).
    ///
    /// - Parameter keepsLineBreaks: Whether line feeds and tabs stay as they are, for text of several lines.
    package func escapingControls(keepsLineBreaks: Bool = false) -> String {
        if unicodeScalars.allSatisfy({ $0.isPrintable || keepsLineBreaks && $0.isLayout }) { return String(self) }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isPrintable || keepsLineBreaks && scalar.isLayout {
                text.unicodeScalars.append(scalar)
            } else {
                text += scalar.escaped(asASCII: true)
            }
        }
        return text
    }

    /// The text for a message: escaped as by ``escapingControls(keepsLineBreaks:)``, and cut after `limit` characters.
    package func shortened(to limit: Int = 60) -> String {
        let head = unicodeScalars.prefix(limit + 1)
        var text = String.UnicodeScalarView()
        text.append(contentsOf: head.prefix(limit))
        return String(text).escapingControls() + (head.count > limit ? "…" : "")
    }
}

extension Unicode.Scalar {
    /// Whether a terminal shows the character as itself.
    fileprivate var isPrintable: Bool {
        switch value {
        case 0x20...0x7E, 0xA0...0x061B: true
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
        default: true
        }
    }

    fileprivate var isLayout: Bool { value == 0x0A || value == 0x09 }
}
