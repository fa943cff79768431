import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The replay buffer", .timeLimit(.minutes(20)))
struct ReplayBufferTests {
    /// Returns a row that encodes its number.
    private func row(_ number: Int) -> [UInt8] {
        var row = [UInt8](repeating: 0, count: SampleRow.width)
        row[0] = UInt8(number & 0xFF)
        row[1] = UInt8(number >> 8)
        return row
    }

    @Test("Half of the draws are from the newest samples, and no replaced sample is drawn")
    func newestSamplesAreDrawnHalfOfTheTime() {
        let (bound, added, draws) = (4_096, 6_000, 40_000)
        var buffer = ReplayBuffer(bound: bound)
        for number in 0..<added { buffer.add(row(number)) }
        var generator = SplitMix64(seed: 1)
        let drawn = (0..<draws).map { _ in
            let row = buffer.draw(&generator)
            return Int(row[0]) | Int(row[1]) << 8
        }
        #expect(drawn.min() == added - bound)
        #expect(drawn.max() == added - 1)
        // Half of the draws, and of the other half a quarter: 0.625, with a standard deviation of 0.0024.
        let recent = drawn.count { $0 >= added - ReplayBuffer.recent }
        #expect(abs(Double(recent) / Double(draws) - 0.625) < 0.012)
    }

    @Test("A single sample is drawn each time")
    func singleSampleIsDrawnEachTime() {
        var buffer = ReplayBuffer(bound: 64)
        buffer.add(row(7))
        var generator = SplitMix64(seed: 1)
        for _ in 0..<100 { #expect(buffer.draw(&generator)[0] == 7) }
    }
}
