import Foundation
import HalcyonNetworking
import HalcyonSupport

/// What a ``HalcyonManager`` may load: schemes, addresses and files. It is checked before anything is opened, for each source of a load
/// (also the alternative ones and that for Low Data Mode), each prefetch, each revalidation and each redirect.
///
/// ```swift
/// // A server that shows pictures of URLs that others chose, and its own below /srv/pictures.
/// var policy = SourcePolicy.publicServers
/// policy.folders = [URL(fileURLWithPath: "/srv/pictures")]
/// let manager = HalcyonManager(sourcePolicy: policy)
/// ```
///
/// A source that the policy refuses ends with ``ManagerError/sourceRefused(_:reason:)``, whether or not it exists, and with
/// `NetworkError.peerRefused(address:)` where its server's address decides. An image that is cached already is not refused: nothing is
/// opened for it. A provider of the app's own (``ImageDataProvider``) is the app's code and not asked what it opens.
///
/// See `SourcePolicyTests`.
public struct SourcePolicy: Sendable {
    /// The schemes of URLs that may be loaded, in lower case. `file` and `data` are among them where files and `data:` URLs may be read.
    /// Default: `nil`, those that the downloader's requests allow (`TransportRequest.allowedSchemes`), `file` and `data`.
    public var schemes: Set<String>?
    /// The addresses that a load may connect to, in addition to what its request's own filter decides. A redirect handler or a request
    /// modifier cannot take it off. Default: any.
    public var addresses: PeerFilter
    /// The folders in which files may be read, with all that is below them. Links and `..` in a file's URL and in a folder's are resolved
    /// first, so that none leads out of a folder. A folder that others can write is no protection. An empty list refuses every file.
    ///
    /// Default: `nil`, every file that the app can read, as long as nothing restricts the loads. Where something does, no file is read unless
    /// its folder is named. ``addresses`` does, and so do a `peerFilter` of the downloader's request for the file's URL, and other schemes
    /// in it than http and https, without `file`. What a request modifier would set does not count.
    public var folders: [URL]?

    /// Creates a policy.
    public init(schemes: Set<String>? = nil, addresses: PeerFilter = .any, folders: [URL]? = nil) {
        (self.schemes, self.addresses, self.folders) = (schemes, addresses, folders)
    }

    /// The policy for URLs that others chose: http, https and `data:` URLs, addresses of the public Internet, no files.
    ///
    /// It needs a transport that can filter addresses, and no proxy; see `PeerFilter`.
    public static let publicServers = SourcePolicy(
        schemes: ["http", "https", "data"], addresses: .publicAddresses, folders: [])

    /// What each request of a load has to keep to.
    var restriction: RequestRestriction { RequestRestriction(schemes: schemes, addresses: addresses) }

    /// Checks the scheme of a URL.
    ///
    /// - Throws: ``ManagerError/sourceRefused(_:reason:)``.
    func check(_ url: URL) throws(ManagerError) {
        guard let schemes, let scheme = url.scheme?.lowercased(), !schemes.contains(scheme) else { return }
        throw .sourceRefused(url, reason: "the policy allows the schemes \(schemes.sorted().joined(separator: ", "))")
    }

    /// Returns what may be read of files by a load whose request would be this one.
    func fileAccess(by request: TransportRequest) -> FileAccess {
        let isRestricted =
            addresses != .any || request.peerFilter != .any
            || request.allowedSchemes != TransportRequest.webSchemes && !request.allowedSchemes.contains("file")
        return FileAccess(
            folders: (folders ?? (isRestricted ? [] : nil))?.map { ByteName($0.path) },
            limit: request.limits.responseBytes)
    }
}

extension ImageLoad {
    /// Returns a provider as the policy lets it read; what it may read is checked when it does.
    ///
    /// - Throws: ``ManagerError/sourceRefused(_:reason:)``.
    func permitted(_ provider: any ImageDataProvider) throws -> any ImageDataProvider {
        guard var own = provider as? any URLProvider else { return provider }
        try options.sourcePolicy.check(own.url)
        own.access = options.sourcePolicy.fileAccess(by: options.downloader.configuration.request(own.url))
        return own
    }
}

/// A provider of the bytes that a URL names without a server.
protocol URLProvider: ImageDataProvider {
    var url: URL { get }
    /// What it may read.
    var access: FileAccess { get set }
}

/// The files that a load may read, and how much of them.
struct FileAccess: Hashable, Sendable {
    /// The paths of the folders that a file must be in; `nil` for any file.
    var folders: [ByteName]?
    /// The largest number of bytes, that of the body of a response.
    var limit: Int

    /// Reads a file. It blocks.
    ///
    /// - Throws: ``ManagerError/sourceRefused(_:reason:)`` or ``ManagerError/cannotReadFile(_:underlying:)``.
    func read(_ url: URL) throws -> Data {
        // The C library would take the part before a NUL for the whole.
        let path = url.path
        guard !path.utf8.contains(0), ["", "localhost"].contains(url.host ?? "") else {
            throw ManagerError.sourceRefused(url, reason: "it is no path of this machine")
        }
        let file = try resolved(path, url)
        do {
            return try Self.bytes(ofFile: file, limit: limit, followsLinks: folders == nil)
        } catch {
            throw ManagerError.cannotReadFile(url, underlying: error)
        }
    }

    /// Returns the path without links, if only some folders may be read.
    private func resolved(_ path: String, _ url: URL) throws -> String {
        guard let folders else { return path }
        let real = Self.withoutLinks(path)
        // Whether there is a file outside of the folders is not told.
        let missing = URL(fileURLWithPath: path)
        let place =
            real ?? Self.withoutLinks(missing.deletingLastPathComponent().path).map {
                $0 + "/" + missing.lastPathComponent
            } ?? ""
        for folder in folders {
            guard let folder = Self.withoutLinks(folder.text) else { continue }
            let start = folder.utf8.last == UInt8(ascii: "/") ? folder : folder + "/"
            if place.utf8.starts(with: start.utf8) {
                if let real { return real }
                throw ManagerError.cannotReadFile(url, underlying: POSIXError(.ENOENT))
            }
        }
        throw ManagerError.sourceRefused(
            url,
            reason: folders.isEmpty
                ? "the policy names no folder of files that may be read"
                : "it is in none of the folders that the policy names")
    }

    private static func withoutLinks(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// - Throws: `NetworkError.responseTooLarge(limit:)`, or a `POSIXError` also for what is no regular file.
    private static func bytes(ofFile path: String, limit: Int, followsLinks: Bool) throws -> Data {
        // A FIFO must not hold the thread.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
        guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        if status.st_mode & S_IFMT == S_IFDIR { throw POSIXError(.EISDIR) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw NoRegularFile() }
        guard Int(status.st_size) <= limit else { throw NetworkError.responseTooLarge(limit: limit) }
        var bytes = Data()
        bytes.reserveCapacity(Int(status.st_size))
        try withUnsafeTemporaryAllocation(byteCount: 1 << 18, alignment: 16) { piece in
            while true {
                let count = Foundation.read(file, piece.baseAddress, piece.count)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
                if count == 0 { return }
                bytes.append(contentsOf: UnsafeRawBufferPointer(piece)[..<count])
                // It may have grown.
                guard bytes.count <= limit else { throw NetworkError.responseTooLarge(limit: limit) }
            }
        }
        return bytes
    }
}

/// A path that leads to a FIFO, a device or a socket.
private struct NoRegularFile: Error, CustomStringConvertible {
    let description = "it is no regular file"
}
