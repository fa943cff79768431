import Foundation
import HalcyonEviction
import Testing

@testable import HalcyonLearning
@testable import HalcyonPrefetch

/// The network's inputs, beside the same inputs computed from the list of all requests.
@Suite("Inputs of the planner's network", .timeLimit(.minutes(20)))
struct CandidateInputsTests {
    private struct Request {
        var user: UInt32
        var object: UInt32
        var seconds: Int
        /// The request's number among those of the user.
        var number: Int
    }

    private static let sets: [[UInt32]] = [[], [4], [9], [4, 7]]

    private static func set(of object: UInt32) -> CategorySetID { object % 4 }

    @Test("Every input of every candidate equals its formula over the requests so far")
    func inputsEqualTheirFormulasOverAllRequests() throws {
        var state = WithinVisit(PlannerParameters(), PrefetchContext())
        // The eviction model's features for the same accesses.
        var eviction = FeatureAssembler(groups: [.category, .user, .session, .time, .activity])
        for (set, members) in Self.sets.enumerated() {
            state.habits.sets.define(CategorySetID(set), members: members)
            eviction.userCategory.sets.define(CategorySetID(set), members: members)
        }
        var generator = SplitMix64(seed: 8)
        var requests: [Request] = []
        var (compared, wrong): (Int, [String]) = (0, [])
        for index in 0..<400 {
            let (user, object) = (UInt32(generator.next(below: 2)), UInt32(generator.next(below: 12)))
            let seconds = 1_000_000 + index * 100
            let access = Access(
                entry: object, requestNumber: index, time: Int64(seconds) * 1_000_000, categories: Self.set(of: object),
                user: user)
            state.note(access, isHit: false)
            let own = requests.filter { $0.user == user }
            let gap = own.lastIndex { $0.object == object }.map { FastMath.octaves(UInt32(own.count - $0)) }
            var featureAccess = access
            featureAccess.user = PlannerContext.featureUserID(user)
            eviction.userCategory.note(featureAccess, second: UInt32(seconds), gap: gap ?? .max, isRepeat: gap != nil)
            requests.append(Request(user: user, object: object, seconds: seconds, number: own.count))
            var plan = PrefetchPlan()
            // Even objects are held, and 2 is an unused prefetch.
            state.plan(
                after: access, outlook: PrefetchOutlook(limit: 0, room: .max, unused: [2]) { $0 % 2 == 0 },
                into: &plan)
            // The references do not cover an object that was never requested.
            guard index % 20 == 19, requests.contains(where: { $0.object == 2 }) else { continue }
            #expect(state.candidates.count == state.candidates.newCount + 1)
            for candidate in 0..<state.candidates.count {
                let object = state.candidates[candidate]
                let expected =
                    Reference(requests, user, object).inputs
                    + told(by: &eviction, of: object, user: featureAccess.user, seconds: UInt32(seconds))
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

    /// Returns the features that both models share, from the eviction model. The object has the categories of the
    /// user's last request.
    private func told(
        by eviction: inout FeatureAssembler, of object: UInt32, user: UInt32, seconds: UInt32
    ) -> [(Int, Double)] {
        var record = ObjectRecord()
        (record.categories, record.user) = (Self.set(of: object), user)
        var features = [Float](repeating: 0, count: Feature.places)
        eviction.write(
            &record, at: FeatureInstant(request: 0, second: seconds, greedyDualClock: 0), inputs: &features)
        // The features of the session are the planner's alone.
        var numbers = [Float](repeating: 0, count: Feature.places)
        eviction.userCategory.write(record.categories, eviction.userCategory.statistics(of: user), into: &numbers)
        for feature in Feature.session {
            FeatureScales().encode(&numbers[feature], count: 1, of: feature)
            features[feature] = numbers[feature]
        }
        let habits = PlannerInput.habitFeatures.enumerated().map {
            (PlannerInput.habits + $0, Double(features[$1]))
        }
        let activity = [Feature.sessionLength, Feature.userAccesses].enumerated().map { ($0, Double(features[$1])) }
        let time = (Feature.dayPhase...Feature.dayQuadrature).enumerated().map {
            (2 + $0, (Double(features[$1]) - 1) * 0.15)
        }
        return habits + activity + time
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

        /// Returns the ages of the object's requests, in requests of all users.
        private func ages(_ isOf: (Request) -> Bool) -> [Int] { all.indices.filter { isOf(all[$0]) }.map { now - $0 } }

        var inputs: [(Int, Double)] {
            let seconds = all[now - 1].seconds
            var inputs: [(Int, Double)] = [(4, 1)]
            // The user's own requests for the object.
            let visits = own.filter { $0.object == object }
            if let last = visits.last {
                inputs += [
                    (5, 1), (6, count(Double(visits.count))), (7, count(Double(turn - last.number))),
                    (8, count(4 * decayed(visits.map { turn - $0.number }, 100))),
                    (9, count(Double(seconds - last.seconds) / 60)),
                ]
            } else {
                inputs += [(5, 0), (6, 0), (7, 1.5), (8, 0), (9, 0)]
            }
            // The requests of all users.
            let ages = ages { $0.object == object }
            let inside = self.ages { $0.object == object && $0.number > 0 }
            let users = Set(all.filter { $0.object == object }.map(\.user)).count
            let first = all.first { $0.object == object }?.seconds ?? 0
            inputs += [
                (10, rate(decayed(ages, 500) / 500)), (11, rate(decayed(ages, 5_000) / 5_000)),
                (12, rate(decayed(ages, 50_000) / 50_000)), (13, rate(decayed(inside, 5_000) / 5_000)),
                (14, count(Double(ages.max() ?? 0))), (15, count(Double(users))),
                (16, count(Double(seconds - first) / 60)),
            ]
            return inputs + categories(decayed(ages, 50_000)) + succession + [(37, onward)] + followers
        }

        private func members(_ request: Request) -> [UInt32] { sets[Int(set(of: request.object))] }

        /// The object's share in its categories, and in the user's expected requests for them.
        private func categories(_ accesses: Double) -> [(Int, Double)] {
            let members = sets[Int(CandidateInputsTests.set(of: object))]
            // The categories of the last request that had any.
            let active = own.last { set(of: $0.object) != 0 }.map { set(of: $0.object) } ?? 0
            var (mine, fast, slow, chance) = (0.0, 0.0, 0.0, 0.0)
            for member in members {
                mine += decayed(own.filter { self.members($0).contains(member) }.map { turn - 1 - $0.number }, 200)
                let ages = ages { self.members($0).contains(member) }.map { $0 - 1 }
                fast += decayed(ages, 1_000) / Double(members.count)
                slow += decayed(ages, 50_000) / Double(members.count)
                chance = max(chance, follows(member, active))
            }
            let weight = decayed(own.map { turn - 1 - $0.number }, 200) + 8
            let share = accesses / (slow + 0.01)
            let outlook = 0.5 * (mine + 8 * fast / 1_000) / weight + 0.5 * chance
            return [(30, rate(share)), (31, rate(outlook * share))]
        }

        /// Returns the share of a category among the successors of a set.
        private func follows(_ category: UInt32, _ last: CategorySetID) -> Double {
            if last == 0 { return 0 }
            var (score, followed) = (0, 0)
            for user in Set(all.map(\.user)) {
                var before: CategorySetID = 0
                for request in all where request.user == user {
                    if before == last {
                        followed += 1
                        score += members(request).contains(category) ? 1 : 0
                    }
                    if set(of: request.object) != 0 { before = set(of: request.object) }
                }
            }
            return Double(score) / Double(followed + 5)
        }

        private var succession: [(Int, Double)] {
            let followers = steps(of: own[0].user).suffix(2).reversed().map { follow(all[$0].object) }
            func inputs(_ number: Int, _ share: (Following) -> Double) -> [(Int, Double)] {
                let shares = followers.map(share)
                return [(number, rate(shares[0])), (number + 1, rate(shares.reduce(0, +)))]
            }
            return inputs(32) { $0.score / ($0.followed + 3) } + inputs(34) { $0.late / ($0.lateFollowed + 2) }
                + [(36, count(followers[0].followed))]
        }

        /// The places of a user's requests that are not for the same object as the one before.
        private func steps(of user: UInt32) -> [Int] {
            let places = all.indices.filter { all[$0].user == user }
            return places.enumerated().filter { turn, place in
                turn == 0 || all[places[turn - 1]].object != all[place].object
            }.map(\.element)
        }

        /// Whether the object is the majority successor: for the user after the last object, and for all users after
        /// the last two.
        private var followers: [(Int, Double)] {
            let mine = steps(of: own[0].user).map { all[$0].object }
            guard let last = mine.last else { return [] }
            let (first, lead) = vote(zip(mine, mine.dropFirst()).filter { $0.0 == last }.map(\.1))
            let second = first.flatMap { first in
                vote(zip(mine, mine.dropFirst()).filter { $0.0 == first }.map(\.1)).object
            }
            // The successors of both objects for any user, in order of time.
            let triples = Set(all.map(\.user)).flatMap { user in
                let steps = steps(of: user)
                return steps.indices.dropFirst(2).map { (steps[$0], steps[($0 - 2)..<$0].map { all[$0].object }) }
            }.sorted { $0.0 < $1.0 }
            let (third, ahead) = vote(triples.filter { $0.1 == mine.suffix(2) }.map { all[$0.0].object })
            return [
                (38, object == first ? 1 + count(Double(lead)) : object == second ? 0.5 : 0),
                (39, object == third ? 0.5 + count(Double(ahead)) : 0),
            ]
        }

        /// Returns the majority object by Boyer and Moore, and its lead less one.
        private func vote(_ votes: [UInt32]) -> (object: UInt32?, lead: Int) {
            votes.reduce((nil, 0)) { state, vote in
                state.0 == vote ? (vote, state.1 + 1) : state.1 > 0 ? (state.0, state.1 - 1) : (vote, 0)
            }
        }

        private struct Following {
            var (score, followed, late, lateFollowed) = (0.0, 0.0, 0.0, 0.0)
        }

        /// Returns how often the object succeeded another, and how often any object did; both also with a half-life of
        /// 2,000 requests.
        private func follow(_ other: UInt32) -> Following {
            var following = Following()
            for user in Set(all.map(\.user)) {
                let places = steps(of: user)
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

        /// The share of pauses like the last one after which users continued, from −1 to 1. Each later pause like it
        /// decays the counts by a five-thousandth.
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
            // A request that is followed by a pause of the same class is recorded first, and then decays the count.
            let followed = alike.compactMap(\.next).reduce(0) { $0 + rest(since: $1 - 1) }
            return min((followed + 1) / (requests + 2), 1) * 2 - 1
        }
    }
}
