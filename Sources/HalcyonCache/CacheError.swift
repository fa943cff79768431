import Foundation

/// An error of a cache.
public enum CacheError: Error, CustomStringConvertible {
    /// The policy needs to know the future, so that only a replay can use it.
    case policyNeedsFuture(String)
    /// The name of a cache is empty or cannot be a part of a folder's name.
    case badName(String)
    /// Another storage, of this or another process, uses the directory.
    case directoryInUse(URL)
    /// All users can write to the parent of this directory, a part of the cache's path. It is another user's or a
    /// link, or the parent is not sticky, so that any user can replace it.
    case directoryOfAnotherUser(URL)
    /// The directory cannot be created or opened.
    case cannotCreateDirectory(URL, underlying: any Error)
    /// The bytes of a value cannot be written to a file.
    case cannotWriteFile(URL, underlying: any Error)
    /// A value cannot be converted to bytes.
    case cannotConvertToData(key: String, underlying: any Error)
    /// The key of an entry is empty.
    case emptyKey
    /// The serializer returns no bytes for a value, so that it is not on disk.
    case cannotSerialize(key: String)
    /// A file cannot be read, or its bytes are not a value.
    case cannotLoadDataFromDisk(URL, underlying: any Error)
    /// The cache or the storage was closed.
    case closed
    /// There is no disk storage, for this reason.
    case diskUnavailable(underlying: any Error)

    /// The error, and what would be accepted.
    public var description: String {
        switch self {
        case .policyNeedsFuture(let name):
            "The policy \(name) needs to know the future, so that only a replay can serve it; a live cache takes any other."
        case .badName(let name):
            "'\(name)' cannot name a cache: a name is 1 to 128 bytes long and has neither '/' nor NUL, nor a '.' at its start."
        case .directoryInUse(let url):
            "\(url.path) belongs to another cache, of this process or another; one at a time may use a directory."
        case .directoryOfAnotherUser(let url):
            "\(url.path) lies in a directory that all users can write to, and another user can have made or can replace it; use a "
                + "directory of your own, in one that only you can write to or that is sticky, as /tmp is."
        case .cannotCreateDirectory(let url, let underlying):
            "\(url.path) cannot be used as the directory of a cache: \(underlying)."
        case .cannotWriteFile(let url, let underlying):
            "\(url.path) cannot be written: \(underlying)."
        case .cannotConvertToData(let key, let underlying):
            "The value of '\(key)' cannot be turned into bytes: \(underlying)."
        case .emptyKey:
            "An entry cannot have an empty key; any other string is a key."
        case .cannotSerialize(let key):
            "The serializer gives no bytes for the value of '\(key)', which is in memory only."
        case .cannotLoadDataFromDisk(let url, let underlying):
            "\(url.path) is there and cannot be loaded: \(underlying)."
        case .closed:
            "The cache is closed; open another for the same directory."
        case .diskUnavailable(let underlying):
            "Nothing can be kept on disk. \(underlying)"
        }
    }
}
