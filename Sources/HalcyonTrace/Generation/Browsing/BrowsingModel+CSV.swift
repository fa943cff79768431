extension BrowsingModel {
    /// Generates a trace and writes it as CSV at once: the same bytes as writing the result of ``generate(seed:names:)``,
    /// without the trace in memory.
    ///
    /// Memory: 4 bytes for each view that can be repeated, 60 to 100 bytes a user, and 6 bytes an object (14 with sizes);
    /// none for each request.
    ///
    /// - Parameters:
    ///   - path: the file; `-` is the standard output.
    ///   - compression: the compression; `nil` for that of the file's name.
    /// - Returns: what was written.
    /// - Throws: ``GenerationError`` if a parameter has an invalid value. ``TraceError`` if the name of a category holds a
    ///   control byte, or the disk fails.
    package func writeCSV(
        seed: UInt64, to path: String, compression: Compression? = nil
    ) throws -> GeneratedFacts {
        try validate()
        let names = try CSVNames.escaped(
            StringTable((0..<categories).lazy.map { categoryName($0) }), count: categories, path: path)
        var simulation = BrowsingSimulation(model: self, seed: seed)
        var labels = BrowsingLabels(model: self, seed: seed)
        var sizes = BrowsingSizes(model: self, logMedians: simulation.logMedians, seed: seed)
        var facts = GeneratedFacts()
        var (objects, visitors, seen) = (FirstRequests(), FirstRequests(), FirstRequests())
        let hasSizes = medianSize > 0
        var sink = BufferedSink(try openSink(path, compression: compression))
        sink.append((hasSizes ? "time,key,size,category,user\n" : "time,key,category,user\n").utf8)
        for _ in 0..<requests {
            let request = simulation.step()
            labels.draw(for: simulation.catalogue)
            sizes.draw(for: simulation.catalogue)
            let object = Int(request.object)
            sink.append(decimal: UInt64(UInt32(clamping: request.second)))
            sink.append(UInt8(ascii: ","))
            sink.append(UInt8(ascii: "o"))
            sink.append(decimal: UInt64(object))
            sink.append(UInt8(ascii: ","))
            if hasSizes {
                sink.append(decimal: sizes.values[object])
                sink.append(UInt8(ascii: ","))
            }
            sink.append(names.utf8(labels.values[object]))
            sink.append(UInt8(ascii: ","))
            sink.append(UInt8(ascii: "u"))
            sink.append(decimal: UInt64(request.user))
            sink.append(10)
            try sink.flushIfFull()
            if objects.insert(object) { facts.distinctSize += hasSizes ? sizes.values[object] : 1 }
            visitors.insert(request.user)
            seen.insert(Int(labels.values[object]))
        }
        try sink.finish()
        (facts.requests, facts.objects, facts.hasSizes) = (requests, objects.count, hasSizes)
        (facts.users, facts.categories) = (visitors.count, seen.count)
        return facts
    }
}

/// What a generator wrote to a file.
package struct GeneratedFacts: Sendable, Equatable {
    /// The number of requests.
    package var requests = 0
    /// The number of objects that were requested.
    package var objects = 0
    /// The number of users that made a request.
    package var users = 0
    /// The number of categories of these objects.
    package var categories = 0
    /// Whether objects have sizes in bytes.
    package var hasSizes = false
    /// The size of these objects together: bytes, or 1 each without sizes.
    package var distinctSize: UInt64 = 0
}

/// The numbers that occurred, one byte each.
private struct FirstRequests {
    private var isSet: [Bool] = []
    private(set) var count = 0

    /// Adds a number, and returns whether it is new.
    @discardableResult
    mutating func insert(_ number: Int) -> Bool {
        while isSet.count <= number { isSet.append(false) }
        if isSet[number] { return false }
        isSet[number] = true
        count += 1
        return true
    }
}
