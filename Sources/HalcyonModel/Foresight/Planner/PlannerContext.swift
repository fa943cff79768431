/// What is the same for all candidates of a plan.
struct PlannerContext {
    /// Members of a category set that are looked at.
    static let mostMembers = 4

    var now: UInt32
    var seconds: UInt32
    var slot: Int
    var user: PlannerUsers.Record
    /// The members of the categories of the user's last request.
    var active: UnsafeBufferPointer<UInt32>

    /// The first inputs: session and time of day.
    var situation: (Float, Float, Float, Float, Float, Float) {
        let pause = user.pause == OnwardRates.first ? 0 : user.pause
        let day = FastMath.float(seconds % 86_400) / 86_400
        return (
            PlannerInput.count(FastMath.float(user.session)), PlannerInput.count(FastMath.float(user.requests)),
            PlannerInput.count(FastMath.float(pause) / 60), 0.3 * Self.wave(day),
            0.3 * Self.wave(day < 0.75 ? day + 0.25 : day - 0.75), 1
        )
    }

    /// A smooth wave of period 1 between −1 and 1 that begins at 0: parabolas, near enough to a sine.
    private static func wave(_ phase: Float) -> Float {
        phase < 0.5 ? 16 * phase * (0.5 - phase) : -16 * (phase - 0.5) * (1 - phase)
    }
}
