// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = Context.environment["HALCYON_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]

let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Halcyon", path: "../..")],
    targets: [
        .target(name: "CFuzzing", path: "CFuzzing"),
        .executableTarget(
            name: "Fuzzing",
            dependencies: ["CFuzzing"]
                + [
                    "Halcyon", "HalcyonAccessLog", "HalcyonCurl", "HalcyonExperiments", "HalcyonLearning",
                    "HalcyonNetworking", "HalcyonSimulation", "HalcyonTrace",
                ].map { .product(name: $0, package: "Halcyon") },
            path: "Fuzzing", swiftSettings: strict),
    ])
