// swift-tools-version: 6.2
import PackageDescription

// Products first, then the modules in their order: each imports only modules above it. What few need, or only a developer
// runs, is a package of its own: Sources/Integrations, Experiments/Benchmarks, Experiments/Examples, Tests/Fuzzing.

let environment = Context.environment

/// HALCYON_STRICT, set by continuous integration: warnings are errors.
let strict: [SwiftSetting] = environment["HALCYON_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// HALCYON_OPTIMIZED, set by the Makefile: debug builds of modules that compute are optimized and keep their assertions, so
/// that tests which replay and train take a tenth of the time.
let computing: [SwiftSetting] =
    environment["HALCYON_OPTIMIZED"] == nil
    ? strict : strict + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]

let apple: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]
/// The default transport is libcurl on Linux and URLSession on Apple's platforms, which have no public libcurl.
let transport: [Target.Dependency] = [
    .target(name: "HalcyonCurl", condition: .when(platforms: [.linux])),
    .target(name: "HalcyonURLSession", condition: .when(platforms: apple)),
]
/// Sources ask for this name, not for `canImport`, which depends on what was built before.
let loading = strict + [.define("HALCYON_CURL", .when(platforms: [.linux]))]
/// Pictures are read and written by C libraries on Linux, and by ImageIO on Apple's platforms, which lack these
/// libraries.
let codecs: [Target.Dependency] = [
    .target(name: "HalcyonPortableCodecs", condition: .when(platforms: [.linux])),
    .target(name: "HalcyonImageIO", condition: .when(platforms: apple)),
]
/// As for the transport, sources ask for this name.
let onApple = strict + [.define("HALCYON_APPLE", .when(platforms: apple))]
/// Logs are written, and caches kept, with GRDB. Logs are read with SQLite itself, so that nothing of the laboratory
/// needs GRDB, and a policy of one's own is built without it.
let grdb: [Target.Dependency] = [
    .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
]

func library(_ name: String) -> Product { .library(name: name, targets: [name]) }

func system(_ name: String, _ pkgConfig: String, apt: String, brew: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
}

func module(
    _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = [], c: [CSetting] = [],
    _ settings: [SwiftSetting] = strict
) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, cSettings: c, swiftSettings: settings)
}

/// A module or program that only tests use, in a folder of Tests.
func support(_ name: String, _ dependencies: [Target.Dependency] = [], isProgram: Bool = false) -> Target {
    isProgram
        ? .executableTarget(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: strict)
        : .target(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: strict)
}

/// The tests of a module. HALCYON_TESTS names those to keep, so that nothing else is built for them: see CONTRIBUTING.md.
func tests(_ module: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> [Target] {
    let name = "\(module)Tests"
    if let kept = environment["HALCYON_TESTS"]?.split(separator: ","), !kept.contains(Substring(name)) { return [] }
    return [.testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)]
}

let core: [Target] = [
    .target(name: "CProcessor"),
    .target(name: "CSHA256"),
    // Compiled for speed in debug builds, too: tests train networks.
    .target(name: "CPortableBLAS", cSettings: [.unsafeFlags(["-O3", "-ffp-contract=off"])]),
    system("COpenBLAS", "openblas", apt: "libopenblas-dev", brew: "openblas"),
    module("HalcyonSupport", [.target(name: "CSHA256", condition: .when(platforms: [.linux]))], computing),
    module("HalcyonEviction", ["HalcyonSupport", "CProcessor"], computing),
    module(
        "HalcyonLearning",
        [
            "HalcyonEviction", "HalcyonSupport", "CProcessor", "CPortableBLAS",
            .target(name: "COpenBLAS", condition: .when(platforms: [.linux])),
        ],
        resources: [.embedInCode("Resources/device.safetensors")],
        // The interface of Accelerate that is not deprecated, and the type of its sizes.
        c: [.define("ACCELERATE_NEW_LAPACK", .when(platforms: apple))], computing),
    module(
        "HalcyonPrefetch", ["HalcyonLearning", "HalcyonEviction", "HalcyonSupport", "CProcessor"],
        resources: [.embedInCode("Resources/lists.safetensors")], computing),
]

let cache: [Target] = [
    system("CSQLite", "sqlite3", apt: "libsqlite3-dev", brew: "sqlite"),
    module("HalcyonAccessLogReading", ["CSQLite"]),
    module("HalcyonAccessLog", ["HalcyonAccessLogReading", "HalcyonSupport"] + grdb),
    module(
        "HalcyonCache",
        [
            "HalcyonAccessLog", "HalcyonAccessLogReading", "HalcyonEviction", "HalcyonSupport", "CProcessor",
            .product(name: "GRDB", package: "GRDB.swift"),
        ], onApple),
    .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
    module("HalcyonNetworking", ["HalcyonSupport"]),
    module("HalcyonCurl", ["HalcyonNetworking", "HalcyonSupport", "CCurl"], loading),
    module("HalcyonURLSession", ["HalcyonNetworking", "HalcyonSupport"], loading),
    system("CZlib", "zlib", apt: "zlib1g-dev", brew: "zlib"),
    system("CJPEG", "libjpeg", apt: "libjpeg-dev", brew: "jpeg-turbo"),
    system("CPNG", "libpng", apt: "libpng-dev", brew: "libpng"),
    system("CWebP", "libwebp", apt: "libwebp-dev", brew: "webp"),
    .target(name: "CImageCodecs", dependencies: ["CJPEG", "CPNG", "CWebP", "CZlib"]),
    module("HalcyonImages", [], onApple),
    module("HalcyonPortableCodecs", ["HalcyonImages", "CImageCodecs"]),
    module("HalcyonImageIO", ["HalcyonImages"]),
    module("HalcyonCodecs", ["HalcyonImages"] + codecs, onApple),
    module(
        "HalcyonPipeline",
        ["HalcyonCache", "HalcyonCodecs", "HalcyonImages", "HalcyonNetworking", "HalcyonSupport"] + transport, loading),
    module(
        "HalcyonPrediction",
        [
            "HalcyonPipeline", "HalcyonCache", "HalcyonAccessLog", "HalcyonPrefetch", "HalcyonLearning",
            "HalcyonEviction", "HalcyonSupport",
        ]),
    module("HalcyonViews", ["HalcyonPipeline", "HalcyonSupport"]),
    module(
        "Halcyon",
        [
            "HalcyonViews", "HalcyonPrediction", "HalcyonPipeline", "HalcyonCodecs", "HalcyonImages",
            "HalcyonNetworking", "HalcyonCache", "HalcyonAccessLog",
        ] + transport, loading),
]

let laboratory: [Target] = [
    system("CZstd", "libzstd", apt: "libzstd-dev", brew: "zstd"),
    system("CXz", "liblzma", apt: "liblzma-dev", brew: "xz"),
    module(
        "HalcyonTrace", ["HalcyonAccessLogReading", "HalcyonSupport", "CProcessor", "CZlib", "CZstd", "CXz"],
        computing),
    module(
        "HalcyonSimulation",
        ["HalcyonTrace", "HalcyonPrefetch", "HalcyonLearning", "HalcyonEviction", "HalcyonSupport"], computing),
    // Loads LightGBM at run time, if a policy needs it; nothing links with it.
    module("HalcyonBoosting", ["HalcyonLearning", "HalcyonEviction", "HalcyonSupport"], computing),
    module(
        "HalcyonExperiments",
        [
            "HalcyonSimulation", "HalcyonTrace", "HalcyonBoosting", "HalcyonPrefetch", "HalcyonLearning",
            "HalcyonEviction", "HalcyonSupport", .product(name: "Yams", package: "Yams"),
        ], computing),
    module(
        "HalcyonCommand",
        [
            "HalcyonExperiments", "HalcyonSimulation", "HalcyonTrace", "HalcyonBoosting", "HalcyonPrefetch",
            "HalcyonLearning", "HalcyonEviction", "HalcyonSupport",
            .product(name: "ArgumentParser", package: "swift-argument-parser"),
        ]),
    .executableTarget(name: "replay", dependencies: ["HalcyonCommand"], swiftSettings: strict),
]

let testSupport: [Target] = [
    support("CChildProcess"),
    support("CHeapUse"),
    support("HalcyonTestSupport", ["HalcyonSupport", "CChildProcess"]),
    support("HalcyonEvictionTestSupport", ["HalcyonEviction"]),
    support("HalcyonTraceTestSupport", ["HalcyonTrace"]),
    // Processes that tests start, kill, and put under load.
    support("AccessLogProcess", ["HalcyonAccessLog"], isProgram: true),
    support("HalcyonTestProcess", ["Halcyon", "HalcyonAccessLog", "HalcyonTestSupport"], isProgram: true),
    support("NetworkLoadProcess", ["Halcyon", "HalcyonCurl", "HalcyonTestSupport", "CHeapUse"], isProgram: true),
]

let allTests: [[Target]] = [
    tests("HalcyonSupport", ["HalcyonSupport", "CSHA256"]),
    tests("HalcyonEviction", ["HalcyonEviction", "HalcyonEvictionTestSupport"]),
    tests(
        "HalcyonLearning",
        ["HalcyonLearning", "HalcyonEvictionTestSupport", "HalcyonTestSupport", "CPortableBLAS"]),
    tests("HalcyonPrefetch", ["HalcyonPrefetch", "HalcyonLearning"]),
    tests(
        "HalcyonAccessLog",
        ["HalcyonAccessLog", "AccessLogProcess", "HalcyonTestSupport", .product(name: "GRDB", package: "GRDB.swift")]),
    tests(
        "Halcyon",
        [
            "Halcyon", "HalcyonPortableCodecs", "HalcyonImageIO", "HalcyonCurl", "HalcyonURLSession", "CCurl",
            "HalcyonTestProcess", "NetworkLoadProcess", "HalcyonExperiments", "HalcyonEvictionTestSupport",
            "HalcyonTestSupport",
            .product(name: "GRDB", package: "GRDB.swift"),
        ], exclude: ["Processing/Fixtures"]),
    tests("HalcyonViews", ["Halcyon", "HalcyonViews", "HalcyonEviction", "HalcyonTestSupport"]),
    tests(
        "HalcyonTrace",
        [
            "HalcyonTrace", "HalcyonAccessLog", "HalcyonTestSupport", "CZlib", "CZstd", "CXz",
            .product(name: "GRDB", package: "GRDB.swift"),
        ]),
    tests(
        "HalcyonSimulation",
        [
            "HalcyonExperiments", "HalcyonSimulation", "HalcyonEvictionTestSupport", "HalcyonTraceTestSupport",
            "HalcyonTestSupport", "CProcessor",
        ], exclude: ["Exactness/decisions.txt"]),
    tests(
        "HalcyonBoosting", ["HalcyonBoosting", "HalcyonSimulation", "HalcyonEvictionTestSupport", "HalcyonTestSupport"]),
    tests("HalcyonExperiments", ["HalcyonExperiments", "HalcyonTraceTestSupport", "HalcyonTestSupport"]),
    tests("Replay", ["replay", "HalcyonCommand", "HalcyonAccessLog", "HalcyonTestSupport"]),
]

let package = Package(
    name: "Halcyon",
    // The least systems with Mutex and Atomic, which 61 files of the image cache use: see docs/platforms.md.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        // The image cache. Halcyon is all of it.
        library("Halcyon"), library("HalcyonCache"), library("HalcyonAccessLog"), library("HalcyonNetworking"),
        library("HalcyonCurl"), library("HalcyonURLSession"), library("HalcyonImages"), library("HalcyonCodecs"),
        library("HalcyonPipeline"), library("HalcyonPrediction"), library("HalcyonViews"),
        // Policies and models, for both.
        library("HalcyonEviction"), library("HalcyonLearning"), library("HalcyonPrefetch"),
        // The laboratory.
        library("HalcyonTrace"), library("HalcyonSimulation"), library("HalcyonExperiments"),
        // `replay`, and the same command with policies of one's own.
        library("HalcyonCommand"), .executable(name: "replay", targets: ["replay"]),
        // The rules that a policy keeps, for the tests of one's own.
        library("HalcyonEvictionTestSupport"),
        // For the tests of the packages beside this one.
        .library(name: "_HalcyonTestSupport", targets: ["HalcyonTestSupport"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: core + cache + laboratory + testSupport + allTests.joined()
)
if environment["HALCYON_DOCS"] != nil {  // `make docs`
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
