import Foundation

/// An authority of a test's own, and what it signs, made by openssl.
enum Certificates {
    /// Makes `authority.pem`, `server.pem` with `server.key` for 127.0.0.1 and localhost, and `misnamed.pem` with
    /// `misnamed.key` for another name.
    static func make(in folder: String) throws {
        try openssl(
            folder,
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=Halcyon-tests"
                + " -keyout authority.key -out authority.pem")
        try sign("server", "IP:127.0.0.1,DNS:localhost", folder)
        try sign("misnamed", "DNS:elsewhere.example", folder)
    }

    private static func sign(_ name: String, _ names: String, _ folder: String) throws {
        try Data("subjectAltName=\(names)\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).ext"))
        try openssl(
            folder,
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=\(name)"
                + " -keyout \(name).key -out \(name).csr")
        try openssl(
            folder,
            "x509 -req -in \(name).csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2"
                + " -extfile \(name).ext -out \(name).pem")
    }

    private static func openssl(_ folder: String, _ arguments: String) throws {
        let process = try ChildProcess(
            "/usr/bin/env", ["openssl"] + arguments.split(separator: " ").map(String.init), in: folder,
            output: .nothing, errors: .nothing)
        guard process.wait() == .exited(0) else { throw NginxError(reason: "openssl failed: \(arguments)") }
    }
}
