// swift-tools-version: 6.2
import PackageDescription

/// Continuous integration sets HALCYON_STRICT so that no warning lands; a package that depends on Halcyon
/// is never failed by a newer compiler's opinion.
let strict: [SwiftSetting] =
    Context.environment["HALCYON_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// The Makefile sets HALCYON_OPTIMIZED: debug builds of the laboratory's libraries are then optimized, with their assertions, so that
/// tests which replay and train take a tenth of the time.
let laboratory: [SwiftSetting] =
    strict
    + (Context.environment["HALCYON_OPTIMIZED"] == nil
        ? [] : [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))])

/// `make docs` sets HALCYON_DOCS; nobody else has to fetch the documentation plugin.
let documentation: [Package.Dependency] =
    Context.environment["HALCYON_DOCS"] == nil
    ? [] : [.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")]

/// The tests of AVIF link with libavif, which nothing else needs: HALCYON_AVIF adds them.
let avifTests: [Target] =
    Context.environment["HALCYON_AVIF"] == nil
    ? []
    : [
        .testTarget(
            name: "HalcyonAVIFTests", dependencies: ["HalcyonAVIF", "Halcyon"], exclude: ["Fixtures"],
            swiftSettings: strict)
    ]

/// A gallery in a window of GTK 4, which nothing else needs: HALCYON_SCREEN adds it.
let screen: [Target] =
    Context.environment["HALCYON_SCREEN"] == nil
    ? []
    : [
        .systemLibrary(
            name: "CGTK", path: "Experiments/Screen/CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .target(
            name: "CScreen", dependencies: ["CGTK"], path: "Experiments/Screen/CScreen",
            linkerSettings: [.linkedLibrary("X11")]),
        .executableTarget(
            name: "Screen", dependencies: ["CScreen", "HalcyonViews"], path: "Experiments/Screen/Screen",
            swiftSettings: strict),
    ]

/// The platforms on which libcurl is the default transport; elsewhere it is URLSession. Apple's platforms have no public libcurl.
let curlPlatforms: [Platform] = [.linux]
let urlSessionPlatforms: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]
let defaultTransport: [Target.Dependency] = [
    .target(name: "HalcyonCurl", condition: .when(platforms: curlPlatforms)),
    .target(name: "HalcyonURLSession", condition: .when(platforms: urlSessionPlatforms)),
]
/// Sources ask for this name, not for `canImport`, which depends on what was built before.
let curlIsDefault = SwiftSetting.define("HALCYON_CURL", .when(platforms: curlPlatforms))

let package = Package(
    name: "Halcyon",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Halcyon", targets: ["Halcyon"]),
        .library(name: "HalcyonAVIF", targets: ["HalcyonAVIF"]),
        .library(name: "HalcyonCache", targets: ["HalcyonCache"]),
        .library(name: "HalcyonNetworking", targets: ["HalcyonNetworking"]),
        .library(name: "HalcyonCurl", targets: ["HalcyonCurl"]),
        .library(name: "HalcyonURLSession", targets: ["HalcyonURLSession"]),
        .library(name: "HalcyonCodecs", targets: ["HalcyonCodecs"]),
        .library(name: "HalcyonImages", targets: ["HalcyonImages"]),
        .library(name: "HalcyonPipeline", targets: ["HalcyonPipeline"]),
        .library(name: "HalcyonViews", targets: ["HalcyonViews"]),
        .library(name: "HalcyonPrediction", targets: ["HalcyonPrediction"]),
        .library(name: "HalcyonServiceLifecycle", targets: ["HalcyonServiceLifecycle"]),
        .library(name: "HalcyonObservability", targets: ["HalcyonObservability"]),
        .library(name: "HalcyonEviction", targets: ["HalcyonEviction"]),
        .library(name: "HalcyonLearning", targets: ["HalcyonLearning"]),
        .library(name: "HalcyonPrefetch", targets: ["HalcyonPrefetch"]),
        .library(name: "HalcyonModel", targets: ["HalcyonModel"]),
        .library(name: "HalcyonAccessLog", targets: ["HalcyonAccessLog"]),
        .library(name: "HalcyonTrace", targets: ["HalcyonTrace"]),
        .library(name: "HalcyonSimulation", targets: ["HalcyonSimulation"]),
        .library(name: "HalcyonExperiments", targets: ["HalcyonExperiments"]),
        .executable(name: "replay", targets: ["replay"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ] + documentation,
    targets: [
        .systemLibrary(
            name: "COpenBLAS", pkgConfig: "openblas", providers: [.apt(["libopenblas-dev"]), .brew(["openblas"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
        .systemLibrary(
            name: "CTurboJPEG", pkgConfig: "libturbojpeg",
            providers: [.apt(["libturbojpeg0-dev"]), .brew(["jpeg-turbo"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"]), .brew(["libpng"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"]), .brew(["webp"])]),
        .target(name: "CImageCodecs", dependencies: ["CTurboJPEG", "CPNG", "CWebP", "CZlib"]),

        // Compiles without libavif, and then refuses every file; only what depends on it links with the library.
        .target(name: "CAVIF", linkerSettings: [.linkedLibrary("avif")]),

        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CProcessor"),
        // Compiled for speed in debug builds, too: tests train networks.
        .target(name: "CPortableBLAS", cSettings: [.unsafeFlags(["-O3", "-ffp-contract=off"])]),

        .target(name: "CSHA256"),
        .target(
            name: "HalcyonSupport", dependencies: [.target(name: "CSHA256", condition: .when(platforms: [.linux]))],
            swiftSettings: laboratory),
        .target(name: "HalcyonEviction", dependencies: ["HalcyonSupport", "CProcessor"], swiftSettings: laboratory),
        .target(
            name: "HalcyonLearning",
            dependencies: [
                "HalcyonEviction", "HalcyonSupport", "CProcessor", "CPortableBLAS",
                .target(name: "COpenBLAS", condition: .when(platforms: [.linux])),
            ],
            // The interface of Accelerate that is not deprecated, and the type of its sizes.
            cSettings: [
                .define(
                    "ACCELERATE_NEW_LAPACK",
                    .when(platforms: [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]))
            ],
            swiftSettings: laboratory),
        // Loads LightGBM at run time, if a policy needs it; nothing links with it.
        .target(
            name: "HalcyonBoosting", dependencies: ["HalcyonEviction", "HalcyonLearning", "HalcyonSupport"],
            swiftSettings: laboratory),
        .target(
            name: "HalcyonPrefetch",
            dependencies: ["HalcyonEviction", "HalcyonLearning", "HalcyonSupport", "CProcessor"],
            swiftSettings: laboratory),
        .target(name: "HalcyonModel", dependencies: ["HalcyonLearning", "HalcyonPrefetch"], swiftSettings: laboratory),
        .target(
            name: "HalcyonAccessLogReading",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(
            name: "HalcyonAccessLog",
            dependencies: [
                "HalcyonAccessLogReading", "HalcyonSupport", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(
            name: "HalcyonCache",
            dependencies: [
                "HalcyonEviction", "HalcyonAccessLog", "HalcyonAccessLogReading", "HalcyonSupport", "CProcessor",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(name: "HalcyonNetworking", dependencies: ["HalcyonSupport"], swiftSettings: strict),
        .target(
            name: "HalcyonCurl", dependencies: ["HalcyonNetworking", "HalcyonSupport", "CCurl"],
            swiftSettings: strict + [curlIsDefault]),
        .target(
            name: "HalcyonURLSession", dependencies: ["HalcyonNetworking", "HalcyonSupport"],
            swiftSettings: strict + [curlIsDefault]),
        .target(name: "HalcyonImages", swiftSettings: strict),
        .target(name: "HalcyonCodecs", dependencies: ["HalcyonImages", "CImageCodecs"], swiftSettings: strict),
        .target(
            name: "HalcyonPipeline",
            dependencies: [
                "HalcyonCache", "HalcyonNetworking", "HalcyonImages", "HalcyonCodecs", "HalcyonSupport",
            ] + defaultTransport,
            swiftSettings: strict + [curlIsDefault]),
        .target(
            name: "HalcyonPrediction",
            dependencies: [
                "HalcyonPipeline", "HalcyonAccessLog", "HalcyonCache", "HalcyonEviction", "HalcyonLearning",
                "HalcyonPrefetch", "HalcyonSupport",
            ],
            swiftSettings: strict),
        .target(
            name: "HalcyonViews", dependencies: ["HalcyonPipeline"], swiftSettings: strict),
        .target(
            name: "Halcyon",
            dependencies: [
                "HalcyonCache", "HalcyonNetworking", "HalcyonImages", "HalcyonCodecs",
                "HalcyonPipeline", "HalcyonPrediction", "HalcyonViews", "HalcyonAccessLog",
            ] + defaultTransport,
            swiftSettings: strict + [curlIsDefault]),
        .target(
            name: "HalcyonServiceLifecycle",
            dependencies: ["HalcyonCache", .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")],
            swiftSettings: strict),
        .target(
            name: "HalcyonObservability",
            dependencies: [
                "HalcyonCache", "HalcyonImages", "HalcyonNetworking", "HalcyonPipeline", "HalcyonSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        .target(name: "HalcyonAVIF", dependencies: ["HalcyonImages", "CAVIF"], swiftSettings: strict),
        .target(
            name: "HalcyonTrace",
            dependencies: ["CProcessor", "CZlib", "CZstd", "HalcyonAccessLogReading", "HalcyonSupport"],
            swiftSettings: laboratory),
        .target(
            name: "HalcyonSimulation",
            dependencies: ["HalcyonEviction", "HalcyonLearning", "HalcyonPrefetch", "HalcyonSupport", "HalcyonTrace"],
            swiftSettings: laboratory),
        .target(
            name: "HalcyonExperiments",
            dependencies: [
                "HalcyonBoosting", "HalcyonEviction", "HalcyonLearning", "HalcyonPrefetch", "HalcyonSimulation",
                "HalcyonSupport",
                "HalcyonTrace", .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: laboratory),
        .executableTarget(
            name: "replay",
            dependencies: [
                "HalcyonBoosting", "HalcyonExperiments", "HalcyonSimulation", "HalcyonSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),

        .target(
            name: "HalcyonTestSupport",
            dependencies: ["HalcyonEviction", "HalcyonTrace", "HalcyonSimulation", "CChildProcess"],
            path: "Tests/HalcyonTestSupport", swiftSettings: strict),
        .testTarget(name: "HalcyonSupportTests", dependencies: ["HalcyonSupport", "CSHA256"], swiftSettings: strict),
        .testTarget(
            name: "HalcyonEvictionTests", dependencies: ["HalcyonEviction", "HalcyonTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "HalcyonLearningTests", dependencies: ["HalcyonLearning", "HalcyonTestSupport", "CPortableBLAS"],
            swiftSettings: strict),
        .testTarget(
            name: "HalcyonBoostingTests",
            dependencies: ["HalcyonBoosting", "HalcyonSimulation", "HalcyonTestSupport", "HalcyonTrace"],
            swiftSettings: strict),
        .testTarget(
            name: "HalcyonPrefetchTests", dependencies: ["HalcyonLearning", "HalcyonPrefetch", "HalcyonTestSupport"],
            swiftSettings: strict),
        .executableTarget(
            name: "HalcyonTestProcess", dependencies: ["Halcyon", "HalcyonAccessLog", "HalcyonTestSupport"],
            path: "Tests/HalcyonTestProcess", swiftSettings: strict),
        .target(name: "CHeapUse", path: "Tests/CHeapUse"),
        .target(name: "CFuzzing", path: "Tests/CFuzzing"),
        .executableTarget(
            name: "Fuzzing",
            dependencies: [
                "CFuzzing", "Halcyon", "HalcyonAccessLog", "HalcyonCurl", "HalcyonExperiments", "HalcyonLearning",
                "HalcyonNetworking", "HalcyonSimulation", "HalcyonTrace",
            ],
            path: "Tests/Fuzzing", exclude: ["build", "run"],
            swiftSettings: strict + [.define("TESTABLE", .when(configuration: .debug))]),
        .target(name: "CChildProcess", path: "Tests/CChildProcess"),
        .executableTarget(
            name: "NetworkLoadProcess", dependencies: ["Halcyon", "HalcyonCurl", "HalcyonTestSupport", "CHeapUse"],
            path: "Tests/NetworkLoadProcess", swiftSettings: strict),
        .testTarget(
            name: "HalcyonTests",
            dependencies: [
                "Halcyon", "HalcyonCurl", "HalcyonURLSession", "CCurl",
                "HalcyonAccessLog", "HalcyonTestProcess", "NetworkLoadProcess", "HalcyonLearning",
                "HalcyonPrefetch", "HalcyonSimulation", "HalcyonExperiments", "HalcyonTrace", "HalcyonTestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["Processing/Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "HalcyonViewsTests",
            dependencies: ["Halcyon", "HalcyonViews", "HalcyonEviction", "HalcyonTestSupport"], swiftSettings: strict),
        .testTarget(
            name: "HalcyonServiceLifecycleTests",
            dependencies: [
                "Halcyon", "HalcyonServiceLifecycle", "HalcyonTestSupport",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HalcyonObservabilityTests",
            dependencies: [
                "Halcyon", "HalcyonObservability", "HalcyonTestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "AccessLogBenchmark", dependencies: ["HalcyonAccessLog"], path: "Experiments/Benchmarks/AccessLog",
            swiftSettings: strict),
        .executableTarget(
            name: "CacheBenchmark", dependencies: ["Halcyon"], path: "Experiments/Benchmarks/Cache",
            swiftSettings: strict),
        .executableTarget(
            name: "ImageBenchmark", dependencies: ["Halcyon", "CTurboJPEG"], path: "Experiments/Benchmarks/Images",
            swiftSettings: strict),
        .executableTarget(
            name: "RecordAndReplay",
            dependencies: ["Halcyon", "HalcyonAccessLog", "HalcyonExperiments", "HalcyonSimulation", "HalcyonTrace"],
            path: "Experiments/Examples/RecordAndReplay", swiftSettings: strict),
        .executableTarget(
            name: "NetworkBenchmark", dependencies: ["Halcyon", "HalcyonCurl", "HalcyonTestSupport"],
            path: "Experiments/Benchmarks/Network", swiftSettings: strict),
        .executableTarget(
            name: "ViewBenchmark", dependencies: ["HalcyonViews"], path: "Experiments/Benchmarks/Views",
            swiftSettings: strict),
        .executableTarget(
            name: "Gallery", dependencies: ["Halcyon"], path: "Experiments/Examples/Gallery", swiftSettings: strict),
        .executableTarget(
            name: "MetricsExample",
            dependencies: [
                "Halcyon", "HalcyonObservability", .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            path: "Experiments/Examples/Metrics", swiftSettings: strict),
        .executableTarget(
            name: "AccessLogProcess", dependencies: ["HalcyonAccessLog"], path: "Tests/AccessLogProcess",
            swiftSettings: strict),
        .testTarget(
            name: "HalcyonAccessLogTests",
            dependencies: [
                "HalcyonAccessLog", "AccessLogProcess", "HalcyonTestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HalcyonTraceTests",
            dependencies: [
                "HalcyonTrace", "HalcyonSupport", "HalcyonAccessLog", "HalcyonTestSupport", "CZlib", "CZstd",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HalcyonSimulationTests",
            dependencies: [
                "HalcyonExperiments", "HalcyonSimulation", "HalcyonSupport", "HalcyonTestSupport", "CProcessor",
            ],
            exclude: ["Exactness/decisions.txt"], swiftSettings: strict),
        .testTarget(
            name: "HalcyonExperimentsTests",
            dependencies: ["HalcyonExperiments", "HalcyonSimulation", "HalcyonTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ReplayTests", dependencies: ["replay", "HalcyonAccessLog", "HalcyonTestSupport"],
            swiftSettings: strict),
    ] + avifTests + screen
)
