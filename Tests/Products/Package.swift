// swift-tools-version: 6.2
import PackageDescription

/// One program for each product of Halcyon, built as another package builds it: by the product alone.
let products = [
    "Halcyon", "HalcyonAccessLog", "HalcyonCache", "HalcyonCodecs", "HalcyonCurl",
    "HalcyonEviction", "HalcyonExperiments", "HalcyonImages", "HalcyonLearning", "HalcyonModel",
    "HalcyonNetworking", "HalcyonObservability", "HalcyonPipeline", "HalcyonPrediction",
    "HalcyonPrefetch", "HalcyonServiceLifecycle", "HalcyonSimulation", "HalcyonTrace",
    "HalcyonURLSession", "HalcyonViews",
]

let package = Package(
    name: "Products",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Halcyon", path: "../..")],
    targets: products.map { product in
        .executableTarget(
            name: "Uses\(product)", dependencies: [.product(name: product, package: "Halcyon")],
            path: "Sources/Uses\(product)")
    })
