/// Published traces in forms that no reader here knows, each with a line of awk that writes its requests.
enum OtherForms {
    /// A form and the program that reads it.
    struct Form {
        /// The traces that have it.
        let name: String
        /// The fields of a line.
        let fields: String
        /// The options and the program of awk. With `awk` before it, it fits into a line of a help text. Block numbers
        /// are printed by `%.0f`, because mawk cuts `%d` at 2³¹ − 1.
        let awk: String
        /// The options of replay that read what awk writes.
        let options: String
    }

    private static let timeAndKey = "--header no --columns time=1,key=2"

    static let all = [
        Form(
            name: "SYSTOR '17", fields: "Timestamp,Response,IOType,LUN,Offset,Size",
            awk: #"-F, '$3=="R"{for(b=int($5/512);b*512<$5+$6;b++)printf $1","$4"-%.0f\n",b}'"#, options: timeAndKey),
        Form(
            name: "Tencent block", fields: "Timestamp,Offset,Size,IOType,VolumeID",
            awk: #"-F, '$4==0{for(b=$2;b<$2+$3;b++)printf $1","$5"-%.0f\n",b}'"#, options: timeAndKey),
        Form(
            name: "Alibaba block", fields: "device_id,opcode,offset,length,timestamp",
            awk: #"-F, '$2=="R"{for(b=int($3/512);b*512<$3+$4;b++)printf $5","$1"-%.0f\n",b}'"#,
            options: timeAndKey + " --time-unit us"),
        Form(
            name: "K5cloud", fields: "volume,time,type,offset,length",
            awk: #"-F, '$3~/^R/{for(b=int($4/512);b*512<$4+$5;b++)printf $2","$1"-%.0f\n",b}'"#, options: timeAndKey),
        Form(
            name: "Camelab", fields: "time type block blocks",
            awk: #"'tolower($2)!~/^w/{for(b=$3;b<$3+$4;b++)printf"%.0f\n",b}'"#, options: "--trace-format lirs"),
        Form(
            name: "Microsoft enterprise", fields: "DiskRead, time, …, offset, size, …, disk; a read is one object",
            awk: #"-F' *, *' '$1~/^ *DiskRead$/&&$6~/^0x/{print $9"-"$6}'"#, options: "--header no --columns key=1"),
        Form(
            name: "Baleen", fields: "block offset size time operation …",
            awk: #"'$5~/^[125]$/{for(b=int($2/131072);b*131072<$2+$3;b++)print $4","$1"-"b}'"#, options: timeAndKey),
        Form(
            name: "Thesios", fields: "filename,file_offset,…,op_type,…,request_io_size_bytes",
            awk: #"-F, '$7=="READ"{print $1"-"$2","$11}'"#, options: "--header no --columns key=1,size=2"),
        Form(
            name: "WikiBench", fields: "number time URL flag", awk: #"'$4=="-"{print $2"\t"$3}'"#,
            options: "--delimiter tab " + timeAndKey),
        Form(
            name: "UMass YouTube", fields: "time server client operation video …",
            awk: #"'$4=="GETVIDEO"{print $1"\t"$5}'"#, options: "--delimiter tab " + timeAndKey),
    ]

    /// The list for a help text.
    static var text: String {
        """
        Traces of other forms need one line of awk, whose output is read from '-': awk … FILE | replay convert - OUT.csv.gz \
        OPTIONS. Reads alone are requests. A request for several blocks is one for each.

        """
            + all.map { "\n\($0.name) (\($0.fields)), \($0.options):\nawk \($0.awk)" }.joined(separator: "\n")
    }
}
