import Foundation
import HalcyonEviction
import Testing

@testable import HalcyonModel

/// What the network is told, beside the same worked out from the list of all requests.
@Suite("What the planner's network is told")
struct CandidateInputsTests {
    private struct Request {
        var user: UInt32
        var object: UInt32
        var seconds: Int
        /// Which request of the user it is.
        var number: Int
    }

    private static let sets: [[UInt32]] = [[], [4], [9], [4, 7]]

    private static func set(of object: UInt32) -> CategorySetID { object % 4 }

    @Test("Every input of every candidate is what its formula says of the requests until now")
    func inputs() throws {
        var state = PlannerState(PlannerParameters(), seed: 1)
        for (set, members) in Self.sets.enumerated() { state.sets.define(CategorySetID(set), members: members) }
        var generator = SplitMix64(seed: 8)
        var requests: [Request] = []
        var (compared, wrong): (Int, [String]) = (0, [])
        for index in 0..<400 {
            let (user, object) = (UInt32(generator.next(below: 2)), UInt32(generator.next(below: 12)))
            let seconds = 1_000_000 + index * 100
            let access = Access(
                entry: object, index: index, time: Int64(seconds) * 1_000_000, categories: Self.set(of: object),
                user: user)
            state.note(access, isHit: false)
            requests.append(
                Request(user: user, object: object, seconds: seconds, number: requests.count { $0.user == user }))
            var plan: [PrefetchProposal] = []
            // Whatever is even is held.
            state.plan(
                after: access, outlook: PrefetchOutlook(limit: 0, hasRoom: true) { $0 % 2 == 0 }, into: &plan)
            guard index % 20 == 19 else { continue }
            for candidate in 0..<state.candidates.count {
                let expected = Reference(requests, user, state.candidates[candidate]).inputs
                var told = [Float](repeating: -1, count: PlannerInput.width)
                for input in told.indices {
                    told[input] = state.inputs.matrix[input * state.candidates.count + candidate]
                }
                for (input, value) in expected {
                    compared += 1
                    // The logarithms are right to 0.01, and so are these to a little less than a sixth of that.
                    if abs(Double(told[input]) - value) > 0.003 {
                        wrong.append("request \(index), input \(input): \(told[input]) for \(value)")
                    }
                }
            }
        }
        #expect(compared > 2_000)
        #expect(wrong.isEmpty, "\(wrong.count) of \(compared): \(wrong.prefix(9))")
    }

    /// The inputs of one candidate by their formulas.
    private struct Reference {
        let all: [Request]
        let own: [Request]
        let object: UInt32
        let (now, turn): (Int, Int)

        init(_ requests: [Request], _ user: UInt32, _ object: UInt32) {
            all = requests
            own = requests.filter { $0.user == user }
            self.object = object
            now = requests.count
            turn = own.count
        }

        private func count(_ value: Double) -> Double { log2(1 + value) * 0.15 }
        private func rate(_ value: Double) -> Double { (log2(value + 1e-6) + 10) * 0.1 }
        private func decayed(_ ages: [Int], _ halfLife: Double) -> Double {
            ages.reduce(0) { $0 + exp2(-Double($1) / halfLife) }
        }

        /// How long ago the object was asked for, in requests of all.
        private func ages(_ isOf: (Request) -> Bool) -> [Int] { all.indices.filter { isOf(all[$0]) }.map { now - $0 } }

        var inputs: [(Int, Double)] {
            let seconds = all[now - 1].seconds
            var inputs: [(Int, Double)] = [(5, 1), (1, count(Double(turn)))]
            // The user's own requests of the object.
            let visits = own.filter { $0.object == object }
            if let last = visits.last {
                let age = Double(turn - last.number)
                let gap = visits.count > 1 ? Double(last.number - visits[visits.count - 2].number) : 0
                inputs += [
                    (6, 1), (7, count(Double(visits.count))), (8, count(age)), (9, count(gap)),
                    (10, count(4 * decayed(visits.map { turn - $0.number }, 100))),
                    (11, count(Double(seconds - last.seconds) / 60)),
                    (12, gap > 0 ? log2((1 + age) / (1 + gap)) * 0.15 : 0),
                ]
            } else {
                inputs += [(6, 0), (7, 0), (8, 1.5), (9, 1.5), (10, 0), (11, 0), (12, 0)]
            }
            // Everybody's.
            let ages = ages { $0.object == object }
            let inside = self.ages { $0.object == object && $0.number > 0 }
            let middle = decayed(ages, 5_000) / 5_000
            let users = Set(all.filter { $0.object == object }.map(\.user)).count
            let first = all.first { $0.object == object }?.seconds ?? 0
            inputs += [
                (13, rate(decayed(ages, 500) / 500)), (14, rate(middle)), (15, rate(decayed(ages, 50_000) / 50_000)),
                (16, rate(decayed(ages, 100) / 100)), (17, rate(decayed(inside, 500) / 500)),
                (18, rate(decayed(inside, 5_000) / 5_000)), (19, count(Double(ages.max() ?? 0))),
                (20, count(Double(ages.count))), (21, count(Double(ages.min() ?? 0))), (22, count(Double(users))),
                (23, count(Double(seconds - first) / 60)),
            ]
            return inputs + categories(middle) + succession + [(37, onward)]
        }

        private func members(_ request: Request) -> [UInt32] { sets[Int(set(of: request.object))] }

        private func categories(_ middle: Double) -> [(Int, Double)] {
            let members = sets[Int(CandidateInputsTests.set(of: object))]
            // The categories of the last request that had any.
            let active = own.last { set(of: $0.object) != 0 }.map(self.members) ?? []
            var (fast, slow, rate, transition) = (0.0, 0.0, 0.0, 0.0)
            var (nearest, count, returns, all, allReturns) = (1 << 10, 0, 0, 0, 0)
            for member in members {
                let mine = own.filter { self.members($0).contains(member) }
                fast += decayed(mine.map { turn - $0.number }, 4)
                slow += decayed(mine.map { turn - $0.number }, 50)
                count += mine.count
                nearest = min(nearest, mine.last.map { turn - $0.number } ?? nearest)
                rate += decayed(ages { self.members($0).contains(member) }, 5_000) / 5_000
                for (index, request) in self.all.enumerated() where self.members(request).contains(member) {
                    let isReturn = self.all[..<index].contains {
                        $0.user == request.user && $0.object == request.object
                    }
                    all += 1
                    allReturns += isReturn ? 1 : 0
                    if request.user == own[0].user { returns += isReturn ? 1 : 0 }
                }
                for last in active { transition = max(transition, follows(member, last)) }
            }
            let weight = Double(min(turn, 72) + 8)
            let share = middle / (rate + 1e-7)
            return [
                (24, members.contains { active.contains($0) } ? 1 : 0), (25, self.count(Double(nearest))),
                (26, self.count(Double(count))), (27, Double(returns) / Double(1 + count)),
                (28, self.count(fast * 4)), (29, self.count(slow * 4)), (30, self.rate(rate)), (31, self.rate(share)),
                (32, self.rate(transition)),
                (33, self.rate((0.5 * (slow + 8 * rate) / weight + 0.5 * transition) * share)),
                (34, all == 0 ? 0 : self.count(Double(allReturns) * 30 / Double(all))),
            ]
        }

        /// How often a category came after another, by how often any did.
        private func follows(_ category: UInt32, _ last: UInt32) -> Double {
            var (score, followed) = (0, 0)
            for user in Set(all.map(\.user)) {
                var before: [UInt32] = []
                for request in all where request.user == user {
                    let members = members(request)
                    if before.contains(last) {
                        followed += members.count
                        score += members.contains(category) ? 1 : 0
                    }
                    if !members.isEmpty { before = members }
                }
            }
            return Double(score) / Double(followed + 5)
        }

        private var succession: [(Int, Double)] {
            let followers = own.suffix(2).reversed().map { follow($0.object) }
            func inputs(_ number: Int, _ share: (Following) -> Double) -> [(Int, Double)] {
                let shares = followers.map(share)
                return [(number, rate(shares[0])), (number + 1, rate(shares.reduce(0, +)))]
            }
            return inputs(35) { $0.score / ($0.followed + 3) } + inputs(38) { $0.late / ($0.lateFollowed + 2) }
        }

        private struct Following {
            var (score, followed, late, lateFollowed) = (0.0, 0.0, 0.0, 0.0)
        }

        /// How often the object came after another, and how often any did; and both with a half-life of 2,000 requests.
        private func follow(_ other: UInt32) -> Following {
            var following = Following()
            for user in Set(all.map(\.user)) {
                let places = all.indices.filter { all[$0].user == user }
                for (turn, place) in places.enumerated() where all[place].object != other {
                    let rest = exp2(-Double(now - place) / 2_000)
                    for (distance, weight) in [(1, 1.0), (2, 0.5)]
                    where turn >= distance && all[places[turn - distance]].object == other {
                        following.followed += distance == 1 ? 1 : 0
                        following.lateFollowed += distance == 1 ? rest : 0
                        guard all[place].object == object else { continue }
                        following.score += weight
                        following.late += weight * rest
                    }
                }
            }
            return following
        }

        /// How often users went on after a pause like the last one; those long ago count less, by a five-thousandth for each
        /// pause like it since. From −1 to 1.
        private var onward: Double {
            var pauses: [(kind: Int, time: Int, next: Int?)] = []
            for user in Set(all.map(\.user)) {
                let places = all.indices.filter { all[$0].user == user }
                for (turn, place) in places.enumerated() {
                    let pause = turn == 0 ? nil : Double(all[place].seconds - all[places[turn - 1]].seconds)
                    let kind = pause.map { Int(log2($0 + 1) * 4) } ?? -1
                    pauses.append((kind, place, turn + 1 < places.count ? places[turn + 1] : nil))
                }
            }
            guard let mine = pauses.first(where: { $0.time == now - 1 })?.kind else { return 0 }
            let alike = pauses.filter { $0.kind == mine }
            func rest(since time: Int) -> Double { pow(1 - 1 / 5_000, Double(alike.count { $0.time > time })) }
            let requests = alike.reduce(0) { $0 + rest(since: $1.time) }
            // One that is followed by a pause of its own kind is noted first, and then counts less for it.
            let followed = alike.compactMap(\.next).reduce(0) { $0 + rest(since: $1 - 1) }
            return min((followed + 1) / (requests + 2), 1) * 2 - 1
        }
    }
}
