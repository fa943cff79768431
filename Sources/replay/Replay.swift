@main struct R { static func main() {} }
