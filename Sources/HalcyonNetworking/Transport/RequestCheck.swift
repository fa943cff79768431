import Foundation

extension TransportRequest {
    /// Whether it can be sent at all.
    ///
    /// - Throws: ``NetworkError/invalidURL(_:)``, ``NetworkError/unsupportedScheme(_:)``, ``NetworkError/invalidHeader(_:)``.
    package func check() throws(NetworkError) {
        guard let scheme = url.scheme?.lowercased(), !scheme.isEmpty else {
            throw .invalidURL(url.absoluteString)
        }
        guard allowedSchemes.contains(scheme) else { throw .unsupportedScheme(scheme) }
        guard scheme == "file" || url.host?.isEmpty == false else { throw .invalidURL(url.absoluteString) }
        guard HeaderFields.isName(method) else { throw .invalidHeader(method) }
        for field in headers.fields where !HeaderFields.isName(field.name) || !HeaderFields.isValue(field.value) {
            throw .invalidHeader(field.name)
        }
    }

    /// The scheme, host and port, which share their connections.
    package var origin: String {
        "\(url.scheme?.lowercased() ?? "")://\(url.host?.lowercased() ?? ""):\(url.port ?? -1)"
    }
}
