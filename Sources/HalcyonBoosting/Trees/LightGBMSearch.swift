#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where package managers put LightGBM's library.
struct LightGBMSearch {
    #if canImport(Darwin)
        static let fileName = "lib_lightgbm.dylib"
    #else
        static let fileName = "lib_lightgbm.so"
    #endif

    /// The folders that hold a `lib` or `lib64` folder: virtual environments, each `bin` folder of the search path of
    /// commands, the user's own packages, and the system's.
    let prefixes: [String]
    /// The user's folder.
    private let home: String?

    /// Reads the prefixes from the environment.
    init(variable: (String) -> String?) {
        let commands = (variable("PATH") ?? "").split(separator: ":").filter { $0.hasSuffix("/bin") }.map {
            String($0.dropLast("/bin".count))
        }
        home = variable("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let found =
            ["VIRTUAL_ENV", "CONDA_PREFIX"].compactMap(variable) + commands
            + [home.map { $0 + "/.local" }].compactMap { $0 } + ["/usr/local", "/usr"]
        var known: Set<String> = []
        prefixes = found.filter { $0.hasPrefix("/") && known.insert($0).inserted }
    }

    /// The libraries that exist, those of Python packages first. `~/Library/Python` has a user's packages on macOS.
    var libraries: [String] {
        let places = prefixes.flatMap { prefix in
            ["/lib", "/lib64"].flatMap { folder in
                Self.packagedFiles(ofPython: "\(folder)/python3*", below: prefix)
                    + Self.files(like: "\(folder)/\(Self.fileName)", below: prefix)
            }
        }
        return places + (home.map { Self.packagedFiles(ofPython: "/Library/Python/3*/lib/python", below: $0) } ?? [])
    }

    /// The libraries in the packages of Pythons. LightGBM 4 has it in a folder `lib`, version 3 had not.
    private static func packagedFiles(ofPython python: String, below prefix: String) -> [String] {
        ["site-packages", "dist-packages"].flatMap { packages in
            ["lib/", ""].flatMap { files(like: "\(python)/\(packages)/lightgbm/\($0)\(fileName)", below: prefix) }
        }
    }

    /// The files that match a pattern of the shell; characters of the prefix have no special meaning.
    private static func files(like pattern: String, below prefix: String) -> [String] {
        let literal: [Character] = prefix.flatMap { "\\*?[".contains($0) ? ["\\", $0] : [$0] }
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(String(literal) + pattern, 0, nil, &found) == 0 else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { found.gl_pathv[$0].map { String(cString: $0) } }
    }
}
