// swift-tools-version: 6.2
import PackageDescription

/// One program for each product of Halcyon, built as another package builds it: by the product alone.
let products = [
    "Halcyon", "HalcyonAccessLog", "HalcyonCache", "HalcyonCodecs", "HalcyonCommand", "HalcyonCurl",
    "HalcyonEviction", "HalcyonExperiments", "HalcyonImages", "HalcyonLearning",
    "HalcyonNetworking", "HalcyonPipeline", "HalcyonPrediction",
    "HalcyonPrefetch", "HalcyonSimulation", "HalcyonTrace",
    "HalcyonURLSession", "HalcyonViews",
]

/// Those of the package of integrations.
let integrations = ["HalcyonObservability", "HalcyonServiceLifecycle"]

func program(_ product: String, of package: String) -> Target {
    .executableTarget(
        name: "Uses\(product)", dependencies: [.product(name: product, package: package)],
        path: "Sources/Uses\(product)")
}

let package = Package(
    name: "Products",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "Halcyon", path: "../.."),
        .package(name: "HalcyonIntegrations", path: "../../Sources/Integrations"),
    ],
    targets: products.map { program($0, of: "Halcyon") }
        + integrations.map { program($0, of: "HalcyonIntegrations") })
