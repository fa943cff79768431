// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = Context.environment["HALCYON_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]

func halcyon(_ product: String) -> Target.Dependency { .product(name: product, package: "Halcyon") }

func benchmark(_ folder: String, _ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: folder, exclude: folder == "Images" ? ["CTurboJPEGBaseline"] : [],
        swiftSettings: strict)
}

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Halcyon", path: "../..")],
    targets: [
        .systemLibrary(name: "CTurboJPEGBaseline", path: "Images/CTurboJPEGBaseline", pkgConfig: "libturbojpeg"),
        benchmark("AccessLog", "AccessLogBenchmark", [halcyon("HalcyonAccessLog")]),
        benchmark("Cache", "CacheBenchmark", [halcyon("Halcyon"), halcyon("HalcyonEviction")]),
        benchmark("Images", "ImageBenchmark", [halcyon("Halcyon"), "CTurboJPEGBaseline"]),
        benchmark("Manager", "ManagerBenchmark", [halcyon("Halcyon")]),
        benchmark(
            "Network", "NetworkBenchmark",
            [halcyon("Halcyon"), halcyon("HalcyonCurl"), halcyon("_HalcyonTestSupport")]),
        benchmark("Views", "ViewBenchmark", [halcyon("HalcyonViews")]),
    ])
