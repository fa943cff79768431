import Testing

@testable import HalcyonLearning

@Suite("Samples that a network is evaluated on", .timeLimit(.minutes(20)))
struct ObservedSamplesTests {
    @Test(
        "Every third sample is observed, and a bounded sample of them is kept in order"
    )
    func everyThirdSampleIsObservedAndTheDrawKeepsOrder() {
        var samples = ObservedSamples(every: 3, bound: 50, seed: 1)
        for number in 0..<3_000 {
            var row = [UInt8](repeating: 0, count: SampleRow.width)
            row[0] = UInt8(number % 251)
            row[1] = UInt8(number / 251)
            if number % 32 == 0 { samples.follow([Float(number)], steps: number / 32) }
            samples.observe(row, logit: Float(number), isReady: number >= 1_500)
        }
        let kept = samples.inOrder()
        #expect(kept.count == 50)
        var last = -1
        for sample in kept {
            let number = Int(sample.row[0]) + 251 * Int(sample.row[1])
            #expect(number > last && number % 3 == 2 && number >= 1_500)
            #expect(sample.note.logit == Float(number))
            #expect(sample.note.steps == number / 32 && sample.note.weights == [Float(number / 32 * 32)])
            last = number
        }
        // The draw is from all times: it has samples of the early and of the late half.
        #expect((10...40).contains(kept.count { $0.note.order > 2_250 }))
    }

    @Test("No sample is kept by default")
    func noSampleIsKeptByDefault() {
        var samples = ObservedSamples(every: 0, bound: 0, seed: 1)
        samples.observe([UInt8](repeating: 0, count: SampleRow.width), logit: 0, isReady: true)
        #expect(samples.count == 0 && samples.byteCount == 0)
    }
}
